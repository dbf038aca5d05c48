-- The one way in. A caller decides on the heads it knows, and this function appends only if they
-- are still the heads: one round trip, no lock across a client's pause.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- The header that is hashed. Another program can rebuild it: docs/event-encoding.md.
create function ipledger.event_hash(
    space_name text, seq bigint, epoch int, ip inet, step int, recorded_at timestamptz,
    digest bytea, previous bytea
) returns bytea
language sql immutable parallel safe set search_path = pg_catalog as $$
    select sha256(convert_to(
        'ipledger event v1' || E'\n' || space_name || E'\n' || seq || E'\n' || epoch || E'\n'
        || coalesce(encode(substring(inet_send(ip) from 5), 'hex'), '-') || E'\n'
        || coalesce(step::text, '-') || E'\n'
        || (extract(epoch from recorded_at) * 1000000)::bigint || E'\n'
        || encode(digest, 'hex') || E'\n' || encode(previous, 'hex') || E'\n', 'UTF8'))
$$;

-- Rare side records, so that the hot arguments stay few. See append.
create function ipledger.note(notes jsonb) returns boolean
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
    return true;
end
$$;

-- A DEL that found nothing. Taken alone (the exclusive side of the gate that every allocate
-- passes), so an allocate is either seen here or sees the tombstone.
create function ipledger.bury(burial jsonb) returns boolean
language plpgsql set search_path = pg_catalog as $$
declare
    key bytea := decode(burial ->> 'attachment', 'hex');
begin
    perform pg_advisory_xact_lock(hashtextextended('ipledger tombstones', 0));
    if exists (select from ipledger.addresses a where a.attachment = key and a.step % 2 = 0) then
        return false;
    end if;
    delete from ipledger.tombstones t where t.expires_at < clock_timestamp();
    insert into ipledger.tombstones
        (attachment, boot_id, boottime_ns, cluster, node, expires_at)
    values (key, (burial ->> 'boot_id')::uuid, (burial ->> 'boottime_ns')::bigint,
        burial ->> 'cluster', burial ->> 'node', clock_timestamp() + (burial ->> 'seconds')::int * interval '1 second')
    on conflict (attachment) do update set boot_id = excluded.boot_id,
        boottime_ns = excluded.boottime_ns, expires_at = excluded.expires_at;
    return true;
end
$$;

-- The rows of a call. As arrays of rows they cross as one argument each, where a column each would
-- cost the server forty.
create type ipledger.new_event as (space_id int, ip inet, step int, kind text, body bytea);
-- An address that was freed on the way, before it was held again, if it was.
create type ipledger.freed_address as (space_id int, ip inet, step int, seq bigint);
-- An address as it is after the call, with its holder or last holder.
create type ipledger.held_address as (
    space_id int, ip inet, step int, seq bigint, pool cidr, allocated_seq bigint,
    attachment bytea, owner bytea, position smallint,
    cluster text, network text, container_id text, ifname text,
    namespace text, pod text, pod_uid text, node text,
    boot_id uuid, boottime_ns bigint, content bigint, cooldown_seconds int
);

-- append(expected heads, rows)
--   heads     spaces that the decision looked at, in ascending order, and their positions
--   events    in the order of their positions within each space
--   freed     what must be free before anything is held
--   held      of these the first `fresh` were never used before; a tombstone refuses any of them
--   notes     rare side records, or NULL
--   burial    a release that found nothing, or NULL
--   confirm   write even without rows, so that the commit waits for the synchronous standby
-- outcome: 'appended', or nothing was changed because of 'moved' (another head), 'tombstone', or
-- 'held' (a burial found the attachment alive). Beside it the heads as they are now; spaces that
-- do not exist are missing.
--
-- The caller's session decides how it is planned; the lane forces generic plans and point
-- look-ups, which are right whatever ANALYZE has seen. Settings here would cost every call.
create function ipledger.append(
    head_space int[], head_seq bigint[], events ipledger.new_event[],
    freed ipledger.freed_address[], held ipledger.held_address[], fresh int,
    notes jsonb, burial jsonb, confirm boolean,
    out outcome text, out space_ids int[], out seqs bigint[], out hashes bytea[],
    out recorded_at timestamptz[], out epoch int
)
language plpgsql security definer
set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    now_epoch int;
    names text[];
    times timestamptz[];
    h int := 0;
    last_space int := 0;
    payload_digest bytea;
    e_seq bigint[];
    e_time timestamptz[];
    e_digest bytea[];
    e_hash bytea[];
    now_time timestamptz := clock_timestamp();
    time_now timestamptz;
    seq_now bigint;
    hash_now bytea;
    prefix text;
    suffix text;
begin
    if burial is not null and not ipledger.bury(burial) then
        outcome := 'held';
        return;
    end if;
    if cardinality(held) > 0 then
        perform pg_advisory_xact_lock_shared(hashtextextended('ipledger tombstones', 0));
    end if;

    -- Lock and read in one statement: a locked row is read again as it was committed while this
    -- statement waited. Always in ascending order, so batches cannot deadlock.
    select coalesce(array_agg(s.id), '{}'), array_agg(s.name), array_agg(s.seq),
        array_agg(s.hash), array_agg(s.recorded_at), (select max(x.epoch) from ipledger.epochs x)
    into space_ids, names, seqs, hashes, times, now_epoch
    from (
        select * from ipledger.spaces x where x.id = any (head_space)
        order by x.id for no key update
    ) s;
    if space_ids <> head_space or seqs <> head_seq then
        if head_space <> array(select distinct x from unnest(head_space) x order by x) then
            raise exception 'heads must be distinct and in ascending order, not %', head_space
                using errcode = 'invalid_parameter_value';
        end if;
        outcome := 'moved';
        recorded_at := times;
        epoch := now_epoch;
        return;
    end if;
    if cardinality(held) > 0 and exists (
        select from unnest(held) a
        cross join lateral (
            select from ipledger.tombstones t
            where t.attachment = a.attachment and t.expires_at > clock_timestamp()
                -- The caller knows this one, and that its allocate came after it.
                and not coalesce(notes -> 'forget' ? encode(t.attachment, 'hex'), false)
            limit 1
        ) t
    ) then
        outcome := 'tombstone';
        return;
    end if;
    if notes is not null and not ipledger.note(notes) then
        outcome := 'moved';
        return;
    end if;

    for i in 1 .. cardinality(events) loop
        if events[i].space_id <> last_space then
            last_space := events[i].space_id;
            h := array_position(head_space, last_space);
            -- Never earlier than the predecessor's. The clock was read before the locks were
            -- taken, which is as true a moment of the call as any.
            time_now := greatest(now_time, times[h]);
            times[h] := time_now;
            seq_now := seqs[h];
            hash_now := hashes[h];
            prefix := 'ipledger event v1' || E'\n' || names[h] || E'\n';
            suffix := E'\n' || (extract(epoch from time_now) * 1000000)::bigint || E'\n';
        end if;
        seq_now := seq_now + 1;
        payload_digest := sha256(events[i].body);
        -- event_hash, written out: the call would cost more than the hash.
        hash_now := sha256(convert_to(
            prefix || seq_now || E'\n' || now_epoch || E'\n'
            || coalesce(encode(substring(inet_send(events[i].ip) from 5), 'hex'), '-') || E'\n'
            || coalesce(events[i].step::text, '-') || suffix
            || encode(payload_digest, 'hex') || E'\n' || encode(hash_now, 'hex') || E'\n',
            'UTF8'));
        e_seq[i] := seq_now;
        e_time[i] := time_now;
        e_digest[i] := payload_digest;
        e_hash[i] := hash_now;
        seqs[h] := seq_now;
        hashes[h] := hash_now;
    end loop;

    if cardinality(events) > 0 then
        insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash)
        select e.space_id, e_seq[e.n], now_epoch, e_time[e.n], e.ip, e.step, e_digest[e.n],
            e_hash[e.n]
        from unnest(events) with ordinality e (space_id, ip, step, kind, body, n);
        insert into ipledger.payloads (space_id, seq, encoding, kind, body)
        select e.space_id, e_seq[e.n], 1, e.kind, e.body
        from unnest(events) with ordinality e (space_id, ip, step, kind, body, n);
    end if;

    if cardinality(freed) > 0 then
        update ipledger.addresses a
        set step = r.step, seq = r.seq, recorded_at = r.at, released_at = r.at,
            cooling_until = case when a.cooldown_seconds > 0
                then r.at + a.cooldown_seconds * interval '1 second' end
        from (
            select u.*, times[array_position(head_space, u.space_id)] as at from unnest(freed) u
        ) r
        where a.space_id = r.space_id and a.ip = r.ip;
    end if;

    -- Never used before: a plain insert, which costs a fifth less than one that looks for a
    -- conflict first.
    if fresh > 0 then
        insert into ipledger.addresses (
            space_id, ip, step, seq, recorded_at, pool, allocated_seq, allocated_at, attachment,
            owner, position, cluster, network, container_id, ifname, namespace, pod, pod_uid,
            node, boot_id, boottime_ns, content, cooldown_seconds, released_at, cooling_until)
        select u.space_id, u.ip, u.step, u.seq, u.at, u.pool, u.allocated_seq, u.at, u.attachment,
            u.owner, u.position, u.cluster, u.network, u.container_id, u.ifname, u.namespace,
            u.pod, u.pod_uid, u.node, u.boot_id, u.boottime_ns, u.content, u.cooldown_seconds,
            case when u.step % 2 = 1 then u.at end,
            case when u.step % 2 = 1 and u.cooldown_seconds > 0
                then u.at + u.cooldown_seconds * interval '1 second' end
        from (
            select x.*, times[array_position(head_space, x.space_id)] as at
            from unnest(held) with ordinality x (
                space_id, ip, step, seq, pool, allocated_seq, attachment, owner,
                position, cluster, network, container_id, ifname, namespace, pod, pod_uid, node,
                boot_id, boottime_ns, content, cooldown_seconds, n)
            where x.n <= fresh
        ) u;
    end if;
    if cardinality(held) > fresh then
        insert into ipledger.addresses as a (
            space_id, ip, step, seq, recorded_at, pool, allocated_seq, allocated_at, attachment,
            owner, position, cluster, network, container_id, ifname, namespace, pod, pod_uid,
            node, boot_id, boottime_ns, content, cooldown_seconds, released_at, cooling_until)
        select u.space_id, u.ip, u.step, u.seq, u.at, u.pool, u.allocated_seq, u.at, u.attachment,
            u.owner, u.position, u.cluster, u.network, u.container_id, u.ifname, u.namespace,
            u.pod, u.pod_uid, u.node, u.boot_id, u.boottime_ns, u.content, u.cooldown_seconds,
            case when u.step % 2 = 1 then u.at end,
            case when u.step % 2 = 1 and u.cooldown_seconds > 0
                then u.at + u.cooldown_seconds * interval '1 second' end
        from (
            select x.*, times[array_position(head_space, x.space_id)] as at
            from unnest(held) with ordinality x (
                space_id, ip, step, seq, pool, allocated_seq, attachment, owner,
                position, cluster, network, container_id, ifname, namespace, pod, pod_uid, node,
                boot_id, boottime_ns, content, cooldown_seconds, n)
            where x.n > fresh
        ) u
        on conflict (space_id, ip) do update set
            step = excluded.step, seq = excluded.seq, recorded_at = excluded.recorded_at,
            pool = excluded.pool, allocated_seq = excluded.allocated_seq,
            allocated_at = excluded.allocated_at, attachment = excluded.attachment,
            owner = excluded.owner, position = excluded.position, cluster = excluded.cluster,
            network = excluded.network, container_id = excluded.container_id,
            ifname = excluded.ifname, namespace = excluded.namespace, pod = excluded.pod,
            pod_uid = excluded.pod_uid, node = excluded.node, boot_id = excluded.boot_id,
            boottime_ns = excluded.boottime_ns, content = excluded.content,
            cooldown_seconds = excluded.cooldown_seconds, released_at = excluded.released_at,
            cooling_until = excluded.cooling_until;
    end if;

    if cardinality(events) > 0 then
        update ipledger.spaces s
        set seq = seqs[n], hash = hashes[n], recorded_at = times[n]
        from generate_series(1, cardinality(head_space)) n
        where s.id = head_space[n] and s.seq <> seqs[n];
    elsif confirm and cardinality(head_space) = 0 then
        -- Otherwise the locks on the heads are in the log already, and the commit waits for them;
        -- and a lock taken out of order could deadlock.
        update ipledger.spaces s set seq = s.seq
        where s.id = (select min(x.id) from ipledger.spaces x);
    end if;

    outcome := 'appended';
    recorded_at := times;
    epoch := now_epoch;
end
$$;

-- What services call: append and commit in one statement. A lone function call is committed only
-- by the next message of the protocol, so a client that stopped between the two would hold its
-- locks until the connection breaks. And a statement's time-out ends the wait for a synchronous
-- standby only while the statement runs.
--
-- Rights are the caller's: a procedure with rights of its own may not commit.
create procedure ipledger.append_and_commit(
    head_space int[], head_seq bigint[], events ipledger.new_event[],
    freed ipledger.freed_address[], held ipledger.held_address[], fresh int,
    notes jsonb, burial jsonb, confirm boolean,
    out outcome text, out space_ids int[], out seqs bigint[], out hashes bytea[],
    out recorded_at timestamptz[], out epoch int
)
language plpgsql as $$
begin
    select * into outcome, space_ids, seqs, hashes, recorded_at, epoch from ipledger.append(
        head_space, head_seq, events, freed, held, fresh, notes, burial, confirm);
    commit;
end
$$;

reset role;
