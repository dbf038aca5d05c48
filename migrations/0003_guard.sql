-- The guard: one narrow, permanent row per event. Its constraints make a second live holder
-- impossible, whoever inserts. Proof: UNIQUE allows each step of an address once; the foreign
-- key requires step k-1 before step k; nothing is ever deleted. So the steps of an address are
-- 0..m without holes, even ones hold and odd ones free, and only the last one counts.
--
-- NOT DEFERRABLE and not partitioned on purpose: a time partition would let one step exist twice.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

create table ipledger.events (
    space_id int not null,
    -- Position in the stream of the space, from 1, without gaps.
    seq bigint not null,
    epoch int not null,
    -- Never earlier than the predecessor's.
    recorded_at timestamptz not null,
    -- NULL together for events that are about no address.
    ip inet,
    step int,
    -- Generated, so that no writer can switch the foreign key off with a NULL.
    previous_step int generated always as (case when step > 0 then step - 1 end) stored,
    -- SHA-256 of the payload's bytes.
    digest bytea not null,
    -- SHA-256 over this row and the hash of the event before it (docs/event-encoding.md).
    hash bytea not null,
    constraint events_position primary key (space_id, seq),
    -- The address first: no look-up by position can mistake this index for its own.
    constraint events_step unique (ip, step, space_id),
    constraint events_predecessor foreign key (space_id, ip, previous_step)
        references ipledger.events (space_id, ip, step) not deferrable,
    constraint events_position_natural check (seq >= 1),
    constraint events_step_natural check (step >= 0),
    constraint events_address_and_step check ((ip is null) = (step is null)),
    -- 10.0.0.1, 10.0.0.1/24 and ::ffff:10.0.0.1 would be three keys for one address.
    constraint events_address_canonical check (
        ip is null or (
            masklen(ip) = case family(ip) when 4 then 32 else 128 end
            and not ip <<= inet '::ffff:0.0.0.0/96'
        )
    ),
    constraint events_digest_length check (octet_length(digest) = 32),
    constraint events_hash_length check (octet_length(hash) = 32)
);

-- Everything else about an event. Bound to the guard row by the digest, so old payloads can be
-- moved to files and dropped while the guard and the chain stay whole.
create table ipledger.payloads (
    space_id int not null,
    seq bigint not null,
    -- Version of the encoding of `body`.
    encoding smallint not null,
    kind text not null,
    body bytea not null,
    constraint payloads_position primary key (space_id, seq)
);

create function ipledger.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog as $$
begin
    raise exception 'ipledger.% is append-only: % refused', tg_table_name, tg_op
        using errcode = 'restrict_violation';
end
$$;

create trigger events_append_only
    before update or delete or truncate on ipledger.events
    for each statement execute function ipledger.refuse_change();
-- Payloads may be dropped by the owner after they were exported, but never changed.
create trigger payloads_unchanged
    before update or truncate on ipledger.payloads
    for each statement execute function ipledger.refuse_change();

-- A position needs its predecessor. Sound without a lock: a predecessor that this statement can
-- see is committed or its own, and nothing is ever deleted.
create function ipledger.refuse_gap() returns trigger
language plpgsql set search_path = pg_catalog as $$
declare
    gap record;
begin
    select n.space_id, n.first into gap
    from (
        select i.space_id, min(i.seq) as first, max(i.seq) as last, count(*) as rows
        from inserted i group by i.space_id
    ) n
    where n.last - n.first + 1 <> n.rows
        -- A scalar look-up: NOT EXISTS would be planned as a hash of the whole table while the
        -- table has no statistics.
        or (n.first > 1 and (
            select e.seq from ipledger.events e
            where e.space_id = n.space_id and e.seq = n.first - 1
        ) is null)
    limit 1;
    if found then
        raise exception 'space % has no event before position %', gap.space_id, gap.first
            using errcode = 'integrity_constraint_violation', constraint = 'events_gapless';
    end if;
    return null;
end
$$;

create trigger events_gapless
    after insert on ipledger.events referencing new table as inserted
    for each statement execute function ipledger.refuse_gap();

-- ALWAYS: also under session_replication_role = replica.
alter table ipledger.events enable always trigger events_append_only;
alter table ipledger.events enable always trigger events_gapless;
alter table ipledger.payloads enable always trigger payloads_unchanged;

reset role;
