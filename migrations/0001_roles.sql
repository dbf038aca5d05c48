-- Roles are global to a PostgreSQL cluster, so their names derive from the database's name.
--   <database>_owner     owns every object; nobody can log in as it
--   <database>_migrator  may become the owner, to run the next migrations
--   <database>_app       the services: EXECUTE on append, SELECT, nothing else
--   <database>_auditor   reads
-- The last three may log in once an operator has given them a password or a certificate.
do $$
declare
    base text := current_database();
    suffix text;
begin
    foreach suffix in array array['owner', 'migrator', 'app', 'auditor'] loop
        if not exists (select from pg_roles where rolname = base || '_' || suffix) then
            execute format('create role %I %s', base || '_' || suffix,
                case suffix when 'owner' then 'nologin' else 'login' end);
        end if;
    end loop;
    execute format('grant %I to %I', base || '_owner', base || '_migrator');
    -- Whoever runs this migration must be able to act as the owner in the next ones.
    if not (select rolsuper from pg_roles where rolname = current_user) then
        execute format('grant %I to %I', base || '_owner', current_user);
    end if;
    execute format('grant create on database %I to %I', base, base || '_owner');
    execute format('grant all on table _sqlx_migrations to %I', base || '_migrator');
    -- Looking whether that table exists asks for the right to make it.
    execute format('grant usage, create on schema public to %I', base || '_migrator');
    execute format('grant select on table _sqlx_migrations to %I, %I',
        base || '_app', base || '_auditor');
    execute format('create schema ipledger authorization %I', base || '_owner');
    execute format('grant usage on schema ipledger to %I, %I', base || '_app', base || '_auditor');
end
$$;
