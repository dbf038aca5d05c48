-- Addresses that are kept for a name after their release, and addresses that a person set aside.
-- Who uses neither pays nothing: both come by the rare side records of append.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- For whom the address of a hold is kept once it is released. It follows from the allocate event,
-- and counts only while that is the last one of the address (addresses.allocated_seq).
create table ipledger.keeps (
    space_id int not null,
    ip inet not null,
    allocated_seq bigint not null,
    -- First 16 bytes of a SHA-256 (docs/event-encoding.md): cluster, namespace, name, interface.
    name bytea not null,
    -- Counted from the release.
    seconds int not null,
    constraint keeps_address primary key (space_id, ip)
);

-- As in 0005, and with the keeps.
create or replace function ipledger.note(notes jsonb) returns boolean
language plpgsql set search_path = pg_catalog set jit = off as $$
declare
    item jsonb;
    parent_id int;
    new_id int;
begin
    -- First of all, since a refusal must change nothing: a range that has a private space must
    -- not come into the parent.
    if exists (
        select from jsonb_array_elements(notes -> 'windows') w, ipledger.spaces s
        where s.parent = (w ->> 'space')::int and s.private_cidr = (w ->> 'cidr')::cidr
    ) then
        return false;
    end if;
    for item in select jsonb_array_elements(notes -> 'clusters') loop
        insert into ipledger.clusters (name, uid, bound_at)
        values (item ->> 'name', item ->> 'uid', clock_timestamp())
        on conflict (name) do update set uid = excluded.uid, bound_at = excluded.bound_at
        where clusters.uid is null;
    end loop;
    for item in select jsonb_array_elements(notes -> 'spaces') loop
        parent_id := (item ->> 'parent')::int;
        if parent_id is not null then
            -- The pool may have come into the parent meanwhile: first use decides, under its lock.
            perform from ipledger.spaces s where s.id = parent_id for no key update;
            continue when exists (
                select from ipledger.pools p
                where p.space_id = parent_id and p.cidr = (item ->> 'cidr')::cidr);
        end if;
        insert into ipledger.spaces (name, parent, private_cidr)
        values (item ->> 'name', parent_id, (item ->> 'cidr')::cidr)
        on conflict do nothing returning id into new_id;
        if new_id is null then
            select s.id into new_id from ipledger.spaces s where s.name = item ->> 'name';
        end if;
        insert into ipledger.space_members (cluster, network_name, space_id)
        select m ->> 'cluster', m ->> 'network_name', new_id
        from jsonb_array_elements(item -> 'members') m
        on conflict do nothing;
        -- A member may have come into another space meanwhile, under no lock that is held here.
        -- Its addresses would be in two: take all back, and let the caller look again.
        if exists (
            select from jsonb_array_elements(item -> 'members') m
            join ipledger.space_members k
                on k.cluster = m ->> 'cluster' and k.network_name = m ->> 'network_name'
            where k.space_id <> new_id
        ) then
            raise exception 'a member of % has another space', item ->> 'name'
                using errcode = 'serialization_failure';
        end if;
    end loop;
    for item in select jsonb_array_elements(notes -> 'windows') loop
        insert into ipledger.pools (space_id, cidr, first_seq)
        values ((item ->> 'space')::int, (item ->> 'cidr')::cidr, (item ->> 'seq')::bigint)
        on conflict do nothing;
        insert into ipledger.windows (space_id, cidr, first_ip, last_ip, exclude, first_seq)
        values ((item ->> 'space')::int, (item ->> 'cidr')::cidr, (item ->> 'first')::inet,
            (item ->> 'last')::inet,
            array(select jsonb_array_elements_text(item -> 'exclude')), (item ->> 'seq')::bigint)
        on conflict do nothing;
    end loop;
    for item in select jsonb_array_elements(notes -> 'boots') loop
        insert into ipledger.boots (cluster, node, boot_id)
        values (item ->> 'cluster', item ->> 'node', (item ->> 'boot_id')::uuid)
        on conflict do nothing;
    end loop;
    delete from ipledger.tombstones t using jsonb_array_elements_text(notes -> 'forget') f
    where t.attachment = decode(f, 'hex');
    delete from ipledger.suspects s using jsonb_array_elements(notes -> 'cleared') c
    where s.space_id = (c ->> 'space')::int and s.ip = (c ->> 'ip')::inet
        and s.step = (c ->> 'step')::int;
    for item in select jsonb_array_elements(notes -> 'suspects') loop
        insert into ipledger.suspects (space_id, ip, step, boot_id, boottime_ns)
        values ((item ->> 'space')::int, (item ->> 'ip')::inet, (item ->> 'step')::int,
            (item ->> 'boot_id')::uuid, (item ->> 'boottime_ns')::bigint)
        on conflict do nothing;
    end loop;
    for item in select jsonb_array_elements(notes -> 'keeps') loop
        insert into ipledger.keeps as k (space_id, ip, allocated_seq, name, seconds)
        values ((item ->> 'space')::int, (item ->> 'ip')::inet, (item ->> 'seq')::bigint,
            decode(item ->> 'name', 'hex'), (item ->> 'seconds')::int)
        on conflict (space_id, ip) do update set allocated_seq = excluded.allocated_seq,
            name = excluded.name, seconds = excluded.seconds
        where k.allocated_seq < excluded.allocated_seq;
    end loop;
    return true;
end
$$;

-- As in 0009; a reservation is a step like any hold.
create or replace function ipledger.refuse_needed() returns trigger
language plpgsql set search_path = pg_catalog as $$
begin
    if old.kind not in ('allocated', 'released', 'reserved') then
        raise exception 'the payload of % at position % is still needed', old.kind, old.seq
            using errcode = 'restrict_violation';
    end if;
    if exists (
        select from ipledger.events e
        join ipledger.addresses a on a.space_id = e.space_id and a.ip = e.ip
        where e.space_id = old.space_id and e.seq = old.seq
            and a.seq = old.seq and a.step % 2 = 0
    ) then
        raise exception 'the payload at position % is that of a current hold', old.seq
            using errcode = 'restrict_violation';
    end if;
    return old;
end
$$;

-- Lists them without a look at all addresses.
create index addresses_reserved on ipledger.addresses (space_id, ip)
    where step % 2 = 0 and container_id = '';

-- How full the windows are: held + cooling + reserved + free = capacity. Computed from the table of
-- addresses alone, as another proof beside the counts that the services keep. An address without a
-- sandbox is set aside by hand.
create view ipledger.window_counts as
select s.name as space, w.cidr, w.first_ip, w.last_ip, w.exclude, c.capacity,
    n.held, n.cooling, n.reserved, c.capacity - n.held - n.cooling - n.reserved as free
from ipledger.windows w
join ipledger.spaces s on s.id = w.space_id
cross join lateral (
    select sum(p.sign * (p.last_number - p.first_number + 1))::numeric(40) as capacity
    from (
        select r.sign,
            (select sum(get_byte(b, i) * 256::numeric ^ (octet_length(b) - 1 - i))
                from substring(inet_send(r.first_ip) from 5) b,
                    generate_series(0, octet_length(b) - 1) i) as first_number,
            (select sum(get_byte(b, i) * 256::numeric ^ (octet_length(b) - 1 - i))
                from substring(inet_send(r.last_ip) from 5) b,
                    generate_series(0, octet_length(b) - 1) i) as last_number
        from (
            select 1 as sign, w.first_ip, w.last_ip
            union all
            select -1, split_part(x, '-', 1)::inet,
                coalesce(nullif(split_part(x, '-', 2), ''), x)::inet
            from unnest(w.exclude) x
        ) r
    ) p
) c
cross join lateral (
    select count(*) filter (where a.step % 2 = 0 and a.container_id <> '') as held,
        count(*) filter (where a.step % 2 = 1 and a.cooling_until > clock_timestamp()) as cooling,
        count(*) filter (where a.step % 2 = 0 and a.container_id = '') as reserved
    from ipledger.addresses a
    where a.space_id = w.space_id and a.ip between w.first_ip and w.last_ip
        and not exists (
            select from unnest(w.exclude) x
            where a.ip between split_part(x, '-', 1)::inet
                and coalesce(nullif(split_part(x, '-', 2), ''), x)::inet)
) n;

do $$
declare
    base text := current_database();
begin
    revoke all on all routines in schema ipledger from public;
    execute format('grant select on ipledger.keeps, ipledger.window_counts to %I, %I',
        base || '_app', base || '_auditor');
end
$$;

reset role;
