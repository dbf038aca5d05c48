-- Wake-ups: where an allocate was refused and a hold of a dead pod may be in the way. Not events,
-- and no part of the guard: losing one costs a wait, no address.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- The last id that was given out, in a row of its own: who gives one out holds the row until the
-- commit. So ids become visible in their order, and no reader can pass one by.
create table ipledger.wakeup_head (
    only_row boolean primary key default true,
    last bigint not null,
    constraint wakeup_head_one_row check (only_row)
);
insert into ipledger.wakeup_head (last) values (0);

create table ipledger.wakeups (
    id bigint primary key,
    space_id int not null,
    cidr cidr not null,
    -- The window; for a fixed address that is held, twice that address.
    first_ip inet not null,
    last_ip inet not null,
    reason text not null,
    at timestamptz not null,
    -- A later refusal of the same window takes the row over, under a new id.
    constraint wakeups_place unique (space_id, cidr, first_ip, last_ip, reason),
    constraint wakeups_reason check (reason in ('exhausted', 'address_taken'))
);

-- wake([{"space", "reason", "first", "last", "cidr"}, …]): at most a thousand; gives the last id.
-- The space is named; the CIDR of a fixed address is that of its hold. What is not there any more
-- is left out.
create function ipledger.wake(wakeups jsonb) returns bigint
language plpgsql security definer set search_path = pg_catalog set jit = off as $$
declare
    item jsonb;
    now_time timestamptz := clock_timestamp();
    head bigint;
    space int;
    pool cidr;
begin
    if jsonb_typeof(wakeups) is distinct from 'array' or jsonb_array_length(wakeups) > 1000 then
        raise exception 'not a list of at most 1000 wake-ups'
            using errcode = 'invalid_parameter_value';
    end if;
    -- Not worth waiting for the standby, which may be away.
    perform set_config('synchronous_commit', 'local', true);
    select h.last into head from ipledger.wakeup_head h for update;
    for item in select jsonb_array_elements(wakeups) loop
        select s.id into space from ipledger.spaces s where s.name = item ->> 'space';
        pool := (item ->> 'cidr')::cidr;
        if pool is null then
            select a.pool into pool from ipledger.addresses a
            where a.space_id = space and a.ip = (item ->> 'first')::inet and a.step % 2 = 0;
        end if;
        continue when space is null or pool is null;
        head := head + 1;
        insert into ipledger.wakeups (id, space_id, cidr, first_ip, last_ip, reason, at)
        values (head, space, pool, (item ->> 'first')::inet, (item ->> 'last')::inet,
            item ->> 'reason', now_time)
        on conflict on constraint wakeups_place do update
        set id = excluded.id, at = excluded.at;
    end loop;
    update ipledger.wakeup_head set last = head where last <> head;
    -- Whoever was away for longer looks at everything anyway.
    delete from ipledger.wakeups w where w.at < now_time - interval '1 day';
    return head;
end
$$;

-- The gates of clusters are read from their events when a service starts: few among millions.
create index payloads_gates on ipledger.payloads (space_id, seq)
    where kind in ('gate_closed', 'gate_opened');

do $$
declare
    base text := current_database();
begin
    revoke all on all routines in schema ipledger from public;
    execute format('grant select on ipledger.wakeup_head, ipledger.wakeups to %I, %I',
        base || '_app', base || '_auditor');
    execute format('grant execute on function ipledger.wake(jsonb) to %I', base || '_app');
end
$$;

reset role;
