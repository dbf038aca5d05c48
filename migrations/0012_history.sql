-- Who an event is about, so that the history of a pod, a node, a sandbox or a network is read page by
-- page without looking at anybody else's events. Derived from the events and written behind them:
-- appending does not pay for it, and a reader first has written what is missing (index_subjects).
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- One row per event about an address. A release is filed under the hold that it ends.
create table ipledger.subjects (
    space_id int not null,
    seq bigint not null,
    -- As in the event: the order of a history over several spaces.
    recorded_at timestamptz not null,
    -- Of cluster and text, see subject_key; NULL where the event does not say.
    pod bigint,
    pod_uid bigint,
    node bigint,
    sandbox bigint,
    network bigint,
    constraint subjects_position primary key (space_id, seq)
);
create index subjects_pod on ipledger.subjects (pod, recorded_at, space_id, seq)
    where pod is not null;
create index subjects_pod_uid on ipledger.subjects (pod_uid, recorded_at, space_id, seq)
    where pod_uid is not null;
create index subjects_node on ipledger.subjects (node, recorded_at, space_id, seq)
    where node is not null;
create index subjects_sandbox on ipledger.subjects (sandbox, recorded_at, space_id, seq)
    where sandbox is not null;
create index subjects_network on ipledger.subjects (network, recorded_at, space_id, seq)
    where network is not null;

-- Up to which position the events of a space are filed.
create table ipledger.subject_heads (
    space_id int primary key,
    seq bigint not null
);

-- The first 8 bytes of the SHA-256 of the two lines; NULL of a NULL. Neither strict nor with settings
-- of its own, so that it is written into the statement that uses it: a call would cost ten times as
-- much. Its caller's search_path is pinned.
create function ipledger.subject_key(cluster text, subject text) returns bigint
language sql immutable parallel safe as $$
    select ('x' || left(encode(sha256(convert_to(cluster || E'\n' || subject, 'UTF8')), 'hex'), 16))
        ::bit(64)::bigint
$$;

-- A payload as JSON; NULL if it is not there, or is none: whoever verifies says so, and the history
-- of all others goes on.
create function ipledger.payload_json(body bytea) returns jsonb
language plpgsql immutable parallel safe as $$
begin
    return convert_from(body, 'UTF8')::jsonb;
exception when data_exception then
    return null;
end
$$;

-- index_subjects(most): files the next events, at most so many of each space; gives the number of
-- those that are still missing.
create function ipledger.index_subjects(most int) returns bigint
language plpgsql security definer set search_path = pg_catalog set jit = off as $$
declare
    item record;
    last bigint;
    missing bigint := 0;
begin
    -- Derived: what a crash takes is filed again.
    perform set_config('synchronous_commit', 'off', true);
    perform pg_advisory_xact_lock(hashtextextended('ipledger subjects', 0));
    for item in
        select s.id, s.seq as head, coalesce(h.seq, 0) as done
        from ipledger.spaces s left join ipledger.subject_heads h on h.space_id = s.id
        where s.seq > coalesce(h.seq, 0) order by s.id
    loop
        last := least(item.head, item.done + greatest(most, 1));
        insert into ipledger.subjects
            (space_id, seq, recorded_at, pod, pod_uid, node, sandbox, network)
        select e.space_id, e.seq, e.recorded_at,
            ipledger.subject_key(h.cluster, (h.owner ->> 'namespace') || '/' || (h.owner ->> 'name')),
            ipledger.subject_key(h.cluster, h.owner ->> 'uid'),
            ipledger.subject_key(h.cluster, h.owner ->> 'node'),
            ipledger.subject_key(h.cluster, h.attachment ->> 'container_id'),
            ipledger.subject_key(h.cluster, h.attachment ->> 'network')
        from ipledger.events e
        left join lateral (
            select ipledger.payload_json(p.body) as body from ipledger.payloads p
            where p.space_id = e.space_id and p.seq = e.seq limit 1
        ) own on true
        left join lateral (
            select ipledger.payload_json(p.body) as body from ipledger.payloads p
            where p.space_id = e.space_id
                and p.seq = case when own.body ->> 'ends_seq' ~ '^[0-9]{1,18}$'
                    then (own.body ->> 'ends_seq')::bigint end
            limit 1
        ) begun on true
        cross join lateral (
            -- The payload of the allocate may be moved away; the release may know whose it was.
            select coalesce(begun.body, own.body -> 'ended', own.body) as body limit 1
        ) hold
        cross join lateral (
            select hold.body #>> '{attachment,cluster}' as cluster,
                hold.body -> 'attachment' as attachment, hold.body -> 'owner' as owner limit 1
        ) h
        where e.space_id = item.id and e.seq > item.done and e.seq <= last and e.ip is not null;
        insert into ipledger.subject_heads as x (space_id, seq) values (item.id, last)
        on conflict (space_id) do update set seq = excluded.seq;
        missing := missing + item.head - last;
    end loop;
    return missing;
end
$$;

do $$
declare
    base text := current_database();
begin
    revoke all on all routines in schema ipledger from public;
    execute format('grant select on ipledger.subjects, ipledger.subject_heads to %I, %I',
        base || '_app', base || '_auditor');
    execute format('grant execute on function ipledger.index_subjects(int) to %I', base || '_app');
end
$$;

reset role;
