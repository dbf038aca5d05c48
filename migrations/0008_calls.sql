-- A repeated ADD appends nothing, but its order token counts: a DEL that began before it, and is
-- delivered after it, must not free what the repeat was promised. So the token of the last
-- repeated ADD stands beside the hold. It is no event: a table that is rebuilt from the events
-- knows the token of the allocate alone, as if the repeat had not come.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- How many repeats moved a token in this space; replicas read on from there.
alter table ipledger.spaces add column calls bigint not null default 0;

-- Order token of the last repeat, and its number in the space; NULL before the first. They stay
-- when the hold ends, and go with the next one.
alter table ipledger.addresses
    add column called_boot_id uuid,
    add column called_boottime_ns bigint,
    add column call bigint;
create index addresses_calls on ipledger.addresses (space_id, call) where call is not null;

-- Of two boots of a node, the one first seen later is the later.
create function ipledger.is_later(
    boot_id uuid, boottime_ns bigint, other_boot_id uuid, other_boottime_ns bigint
) returns boolean
language sql stable set search_path = pg_catalog as $$
    select case when $1 = $3 then $2 > $4 else
        coalesce((select min(b.id) from ipledger.boots b where b.boot_id = $1), 2147483647)
        > coalesce((select min(b.id) from ipledger.boots b where b.boot_id = $3), 2147483647)
    end
$$;

-- A replica that did not hear of a repeat yet must not end its hold by an earlier call: what it
-- would append fails, it reads on, and decides again. Only rows with a repeat come here.
create function ipledger.refuse_overtaken() returns trigger
language plpgsql set search_path = pg_catalog as $$
declare
    token jsonb;
begin
    if old.step % 2 = 0 then
        -- STRICT: without the event this could not be judged.
        select convert_from(p.body, 'UTF8')::jsonb -> 'token' into strict token
        from ipledger.payloads p where p.space_id = new.space_id and p.seq = new.seq;
        if token is not null and ipledger.is_later(old.called_boot_id, old.called_boottime_ns,
            (token ->> 'boot_id')::uuid, (token ->> 'boottime_ns')::bigint)
        then
            raise exception 'a later call for % was recorded meanwhile', host(new.ip)
                using errcode = 'serialization_failure';
        end if;
    end if;
    if new.step % 2 = 0 then
        new.called_boot_id := null;
        new.called_boottime_ns := null;
        new.call := null;
    end if;
    return new;
end
$$;

create trigger addresses_overtaken
    before update on ipledger.addresses for each row
    when (old.call is not null and new.seq <> old.seq)
    execute function ipledger.refuse_overtaken();
alter table ipledger.addresses enable always trigger addresses_overtaken;

-- note_calls(repeats): holds by address and step, and the order token of the repeat. False, and
-- nothing changed, if one of the holds is not the current one any more. `boots` are those that
-- the database may not know yet.
create function ipledger.note_calls(
    c_space int[], c_ip inet[], c_step int[], c_boot_id uuid[], c_boottime_ns bigint[],
    boots jsonb
) returns boolean
language plpgsql security definer
set search_path = pg_catalog
as $$
declare
    item record;
    boot jsonb;
    number bigint;
begin
    -- The heads, in ascending order, as in append.
    perform from ipledger.spaces s where s.id = any (c_space) order by s.id for no key update;
    if exists (
        select from unnest(c_space, c_ip, c_step) c (space_id, ip, step)
        where c.step % 2 <> 0 or (
            select a.step from ipledger.addresses a
            where a.space_id = c.space_id and a.ip = c.ip
        ) is distinct from c.step
    ) then
        return false;
    end if;
    for boot in select jsonb_array_elements(boots) loop
        insert into ipledger.boots (cluster, node, boot_id)
        values (boot ->> 'cluster', boot ->> 'node', (boot ->> 'boot_id')::uuid)
        on conflict do nothing;
    end loop;
    for item in
        select c.* from unnest(c_space, c_ip, c_boot_id, c_boottime_ns)
            c (space_id, ip, boot_id, boottime_ns)
    loop
        update ipledger.spaces s set calls = s.calls + 1 where s.id = item.space_id
        returning s.calls into number;
        update ipledger.addresses a
        set called_boot_id = item.boot_id, called_boottime_ns = item.boottime_ns, call = number
        where a.space_id = item.space_id and a.ip = item.ip and (a.call is null
            or ipledger.is_later(item.boot_id, item.boottime_ns,
                a.called_boot_id, a.called_boottime_ns));
    end loop;
    return true;
end
$$;

-- Committed within its own statement, as append_and_commit and for the same reasons.
create procedure ipledger.note_calls_and_commit(
    c_space int[], c_ip inet[], c_step int[], c_boot_id uuid[], c_boottime_ns bigint[],
    boots jsonb, out noted boolean
)
language plpgsql as $$
begin
    noted := ipledger.note_calls(c_space, c_ip, c_step, c_boot_id, c_boottime_ns, boots);
    commit;
end
$$;

do $$
begin
    revoke all on all routines in schema ipledger from public;
    execute format('grant execute on function ipledger.note_calls to %I',
        current_database() || '_app');
    execute format('grant execute on procedure ipledger.note_calls_and_commit to %I',
        current_database() || '_app');
end
$$;

reset role;
