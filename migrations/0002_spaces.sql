-- Spaces, and what resolves to them.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- A Kubernetes cluster under its configured name, bound at first contact to the UID of its
-- kube-system namespace.
create table ipledger.clusters (
    name text primary key,
    uid text,
    bound_at timestamptz
);

-- The set within which an address is unique, and the head of its stream. One row is updated per
-- batch, so it keeps room for HOT updates.
create table ipledger.spaces (
    id int primary key generated always as identity,
    -- 'prod', 'prod/blue', 'prod/blue#10.0.0.0/24' or 'shared:vlan7'; immutable, part of every hash.
    name text not null unique,
    -- The CIDR of a private space, and the space it was split from.
    private_cidr cidr,
    parent int references ipledger.spaces (id),
    -- Position, hash and time of the last event.
    seq bigint not null default 0,
    hash bytea not null default decode(repeat('00', 32), 'hex'),
    recorded_at timestamptz,
    constraint spaces_private unique (parent, private_cidr),
    constraint spaces_private_has_parent check ((private_cidr is null) = (parent is null)),
    constraint spaces_name check (name <> '' and name !~ '[[:cntrl:]]')
) with (fillfactor = 50);

-- (cluster, network name) -> space; the unnamed network is ''.
create table ipledger.space_members (
    cluster text not null,
    network_name text not null,
    space_id int not null references ipledger.spaces (id),
    primary key (cluster, network_name)
);

-- Counts the times that history may have been shortened (restore, unsafe failover).
create table ipledger.epochs (
    epoch int primary key,
    begun_at timestamptz not null default clock_timestamp(),
    reason text not null
);
insert into ipledger.epochs (epoch, reason) values (1, 'created');

reset role;
