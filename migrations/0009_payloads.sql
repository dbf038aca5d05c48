-- Old payloads may be moved to files and dropped, but not those that the present rests on.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- The payload of a current hold says whose it is; the bindings, declarations and gates of clusters
-- are read from theirs.
create function ipledger.refuse_needed() returns trigger
language plpgsql set search_path = pg_catalog as $$
begin
    if old.kind not in ('allocated', 'released') then
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

create trigger payloads_needed
    before delete on ipledger.payloads for each row execute function ipledger.refuse_needed();
alter table ipledger.payloads enable always trigger payloads_needed;

do $$
begin
    revoke all on all routines in schema ipledger from public;
end
$$;

reset role;
