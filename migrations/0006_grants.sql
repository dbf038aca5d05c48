-- Least rights. Whatever is not granted here is refused.
do $$
declare
    base text := current_database();
begin
    execute format('set local role %I', base || '_owner');
    revoke all on all routines in schema ipledger from public;
    execute format('grant select on all tables in schema ipledger to %I, %I',
        base || '_app', base || '_auditor');
    execute (
        select string_agg(
            format('grant execute on routine %s to %I', p.oid::regprocedure, base || '_app'), ';')
        from pg_proc p
        where p.pronamespace = 'ipledger'::regnamespace
            and p.proname in ('append', 'append_and_commit'));
end
$$;

reset role;
