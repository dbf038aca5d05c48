-- Of two boots of a node the one first seen later is the later. A boot is first seen with its first
-- call, whatever became of that: one that was only ever refused, or found nothing to delete, would
-- otherwise be taken for the newest when a call of it that was held up arrives after the next boot
-- has spoken. So it is noted here before that first call is decided, and never again.
do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$;

-- Read by replicas from the last one they know, and looked for by id.
create unique index boots_number on ipledger.boots (id);
create index boots_boot_id on ipledger.boots (boot_id);

-- One at a time, from before the number is drawn until the commit: whoever sees a boot sees all
-- that have a lower number, so the order is one and the same for every replica at any time.
create function ipledger.order_boots() returns trigger
language plpgsql set search_path = pg_catalog as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('ipledger boots', 0));
    return null;
end
$$;

create trigger boots_ordered
    before insert on ipledger.boots for each statement execute function ipledger.order_boots();
alter table ipledger.boots enable always trigger boots_ordered;

-- note_boots(boots): in the order in which they were first seen. Those that are known keep their
-- place.
create function ipledger.note_boots(boots jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog
as $$
declare
    boot jsonb;
begin
    -- In a statement of its own, so that the next one sees what was committed meanwhile.
    perform pg_advisory_xact_lock(hashtextextended('ipledger boots', 0));
    for boot in select jsonb_array_elements(boots) loop
        insert into ipledger.boots (cluster, node, boot_id)
        select boot ->> 'cluster', boot ->> 'node', (boot ->> 'boot_id')::uuid
        where not exists (
            select from ipledger.boots b where b.boot_id = (boot ->> 'boot_id')::uuid);
    end loop;
end
$$;

-- Committed within its own statement, as append_and_commit and for the same reasons.
create procedure ipledger.note_boots_and_commit(boots jsonb)
language plpgsql as $$
begin
    perform ipledger.note_boots(boots);
    commit;
end
$$;

-- DELs that found nothing before this was applied: their boots were seen.
insert into ipledger.boots (cluster, node, boot_id)
select distinct on (t.boot_id) t.cluster, t.node, t.boot_id
from ipledger.tombstones t
where t.boot_id is not null
    and not exists (select from ipledger.boots b where b.boot_id = t.boot_id)
order by t.boot_id, t.cluster, t.node;

do $$
begin
    revoke all on all routines in schema ipledger from public;
    execute format('grant execute on function ipledger.note_boots to %I',
        current_database() || '_app');
    execute format('grant execute on procedure ipledger.note_boots_and_commit to %I',
        current_database() || '_app');
end
$$;

reset role;
