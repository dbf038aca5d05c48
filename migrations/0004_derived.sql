-- What follows from the events and can be rebuilt from them, and short-lived notes.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- One row per address that was ever used: its last step and its holder, or its last holder.
create table ipledger.addresses (
    space_id int not null,
    ip inet not null,
    -- Even: held. Odd: free.
    step int not null,
    -- Position and time of the event that made this step.
    seq bigint not null,
    recorded_at timestamptz not null,
    -- From the last allocate event.
    pool cidr not null,
    allocated_seq bigint not null,
    allocated_at timestamptz not null,
    -- First 16 bytes of a SHA-256 (docs/event-encoding.md): the attachment; the pod and interface.
    attachment bytea not null,
    owner bytea,
    -- Which range of the request.
    position smallint not null,
    cluster text not null,
    network text not null,
    container_id text not null,
    ifname text not null,
    namespace text,
    pod text,
    pod_uid text,
    node text,
    -- Order token of the last applied call.
    boot_id uuid,
    boottime_ns bigint,
    -- First 8 bytes of the SHA-256 of what was asked for.
    content bigint not null,
    cooldown_seconds int not null,
    -- NULL while held.
    released_at timestamptz,
    cooling_until timestamptz,
    constraint addresses_one_row primary key (space_id, ip)
) with (fillfactor = 80);

-- A second proof beside the guard: a sandbox's interface holds one address per range, and a pod's
-- interface has one sandbox at a time.
create unique index addresses_attachment on ipledger.addresses (attachment, position)
    where step % 2 = 0;
create unique index addresses_owner on ipledger.addresses (owner, position)
    where step % 2 = 0 and owner is not null;

-- The oldest hold of a pool, for the text of a refusal.
create index addresses_oldest on ipledger.addresses (space_id, pool, allocated_seq)
    where step % 2 = 0;

-- CIDRs and windows in order of first use.
create table ipledger.pools (
    space_id int not null,
    cidr cidr not null,
    first_seq bigint not null,
    constraint pools_cidr primary key (space_id, cidr)
);

create table ipledger.windows (
    space_id int not null,
    cidr cidr not null,
    first_ip inet not null,
    last_ip inet not null,
    exclude text[] not null,
    first_seq bigint not null,
    constraint windows_window unique (space_id, cidr, first_ip, last_ip, exclude)
);

-- Boots of a node in the order they were first seen.
create table ipledger.boots (
    id int generated always as identity,
    cluster text not null,
    node text not null,
    boot_id uuid not null,
    first_seen timestamptz not null default clock_timestamp(),
    constraint boots_boot primary key (cluster, node, boot_id)
);

-- An attachment whose DEL found nothing: its own ADD, arriving late, is refused. Not an event.
create table ipledger.tombstones (
    attachment bytea primary key,
    -- Order token of the DEL, and where its boot belongs to.
    boot_id uuid,
    boottime_ns bigint,
    cluster text not null,
    node text not null,
    expires_at timestamptz not null
);
-- Every new one takes the expired ones away, while every allocate waits.
create index tombstones_expired on ipledger.tombstones (expires_at);

-- Holds that one list of valid attachments (CNI GC) did not name. A second list frees them.
create table ipledger.suspects (
    space_id int not null,
    ip inet not null,
    step int not null,
    boot_id uuid not null,
    boottime_ns bigint not null,
    first_absent_at timestamptz not null default clock_timestamp(),
    constraint suspects_hold primary key (space_id, ip, step)
);

reset role;
