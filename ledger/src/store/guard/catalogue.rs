//! What the catalogue must and must not say. A constraint that is there by name only guards
//! nothing, so definitions are compared as well.

/// A statement that names the offenders, and what they have in common.
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) sql: &'static str,
}

/// (table, constraint, definition without spaces, parentheses and quotes).
pub(super) const CONSTRAINTS: &[(&str, &str, &str)] = &[
    ("events", "events_position", "PRIMARYKEYspace_id,seq"),
    ("events", "events_step", "UNIQUEip,step,space_id"),
    (
        "events",
        "events_predecessor",
        "FOREIGNKEYspace_id,ip,previous_stepREFERENCESeventsspace_id,ip,step",
    ),
    ("events", "events_position_natural", "CHECKseq>=1"),
    ("events", "events_step_natural", "CHECKstep>=0"),
    (
        "events",
        "events_address_and_step",
        "CHECKipISNULL=stepISNULL",
    ),
    (
        "events",
        "events_address_canonical",
        "CHECKipISNULLORmasklenip=CASEfamilyipWHEN4THEN32ELSE128END\
         ANDNOTip<<='::ffff:0.0.0.0/96'::inet",
    ),
    (
        "events",
        "events_digest_length",
        "CHECKoctet_lengthdigest=32",
    ),
    ("events", "events_hash_length", "CHECKoctet_lengthhash=32"),
    ("payloads", "payloads_position", "PRIMARYKEYspace_id,seq"),
    ("addresses", "addresses_one_row", "PRIMARYKEYspace_id,ip"),
    ("spaces", "spaces_pkey", "PRIMARYKEYid"),
    ("spaces", "spaces_name_key", "UNIQUEname"),
    ("spaces", "spaces_private", "UNIQUEparent,private_cidr"),
    (
        "space_members",
        "space_members_pkey",
        "PRIMARYKEYcluster,network_name",
    ),
    ("clusters", "clusters_pkey", "PRIMARYKEYname"),
];

/// (index, definition without spaces, parentheses and quotes).
pub(super) const INDEXES: &[(&str, &str)] = &[
    (
        "boots_number",
        "CREATEUNIQUEINDEXboots_numberONbootsUSINGbtreeid",
    ),
    (
        "addresses_attachment",
        "CREATEUNIQUEINDEXaddresses_attachmentONaddressesUSINGbtreeattachment,position\
         WHEREstep%2=0",
    ),
    (
        "addresses_owner",
        "CREATEUNIQUEINDEXaddresses_ownerONaddressesUSINGbtreeowner,position\
         WHEREstep%2=0ANDownerISNOTNULL",
    ),
];

/// Offenders among `$1` tables, `$2` constraints, `$3` definitions.
pub(super) const MISSING_CONSTRAINT: Finding = Finding {
    what: "constraint missing, altered, not validated or deferrable",
    sql: r#"select w.name from unnest($1::text[], $2::text[], $3::text[]) w (relation, name, definition)
        where not exists (select from pg_constraint c
            where c.conrelid = to_regclass('ipledger.' || w.relation) and c.conname = w.name
                and c.convalidated and not c.condeferrable
                and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)
                and regexp_replace(pg_get_constraintdef(c.oid), '[\s()"]|ipledger\.', '', 'g')
                    = w.definition)"#,
};

/// Offenders among `$1` indexes, `$2` definitions.
pub(super) const MISSING_INDEX: Finding = Finding {
    what: "unique index missing, altered or not valid",
    // LIMIT: the definition is asked for of the one index only, or this would wait for whoever
    // has a lock on any table.
    sql: r#"select w.name from unnest($1::text[], $2::text[]) w (name, definition)
        left join lateral (select pg_get_indexdef(i.indexrelid) as definition from pg_index i
            where i.indexrelid = to_regclass('ipledger.' || w.name)
                and i.indisunique and i.indisvalid and i.indisready limit 1) f on true
        where regexp_replace(f.definition, '[\s()"]|ipledger\.', '', 'g')
            is distinct from w.definition"#,
};

/// Offenders against `$1`, the text of all migrations.
pub(super) const ALTERED_ROUTINE: Finding = Finding {
    what: "function missing or not as it was made",
    sql: "select w.name from unnest('{append,append_and_commit,bury,event_hash,index_subjects,
            is_later,note,note_boots,note_boots_and_commit,note_calls,note_calls_and_commit,
            order_boots,payload_json,refuse_change,refuse_gap,refuse_needed,refuse_overtaken,
            subject_key,wake}'
            ::text[]) w (name)
        where not exists (select from pg_proc p where p.proname = w.name
            and p.pronamespace = to_regnamespace('ipledger') and strpos($1, p.prosrc) > 0
            and (p.proname not in ('append', 'index_subjects', 'note_boots', 'note_calls', 'wake')
                or p.prosecdef and 'search_path=pg_catalog' = any (p.proconfig)))
        union select p.proname::text from pg_proc p
        where p.pronamespace = to_regnamespace('ipledger') and strpos($1, p.prosrc) = 0",
};

/// Offenders that need no parameter.
pub(super) const FINDINGS: &[Finding] = &[
    Finding {
        what: "column not generated always",
        sql: "select 'events.previous_step' where not exists (select from pg_attribute a
            join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where a.attrelid = to_regclass('ipledger.events') and a.attname = 'previous_step'
                and a.attgenerated = 's'
                and regexp_replace(pg_get_expr(d.adbin, d.adrelid), '[\\s()]', '', 'g')
                    = 'CASEWHENstep>0THENstep-1ELSENULL::integerEND')",
    },
    Finding {
        what: "trigger missing, altered or not always enabled",
        // The bits of a type: 1 row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate.
        sql: "select w.name from (values
                ('events', 'events_append_only', 58, 'refuse_change', null),
                ('events', 'events_gapless', 4, 'refuse_gap', null),
                ('payloads', 'payloads_unchanged', 50, 'refuse_change', null),
                ('payloads', 'payloads_needed', 11, 'refuse_needed', null),
                ('boots', 'boots_ordered', 6, 'order_boots', null),
                ('addresses', 'addresses_overtaken', 19, 'refuse_overtaken',
                    'old.callISNOTNULLANDnew.seq<>old.seq'))
                w (relation, name, type, function, condition)
            where not exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
                where t.tgrelid = to_regclass('ipledger.' || w.relation) and t.tgname = w.name
                    and t.tgenabled = 'A' and t.tgtype = w.type
                    and (t.tgqual is null) = (w.condition is null)
                    and (w.condition is null or regexp_replace(pg_get_triggerdef(t.oid),
                        '[\\s()]', '', 'g') like '%WHEN' || w.condition || 'EXECUTE%')
                    and p.pronamespace = to_regnamespace('ipledger') and p.proname = w.function)",
    },
    Finding {
        what: "foreign key whose triggers are disabled",
        sql: "select distinct c.conname::text from pg_constraint c
            join pg_trigger t on t.tgconstraint = c.oid
            where c.conrelid = to_regclass('ipledger.events') and t.tgenabled not in ('O', 'A')",
    },
    Finding {
        what: "session_replication_role, under which foreign keys sleep",
        sql: "select current_setting('session_replication_role')
            where current_setting('session_replication_role') <> 'origin'",
    },
    Finding {
        what: "table missing, partitioned, inherited, not logged, or with rules or row security",
        sql: "select w.name from unnest('{events,payloads,addresses,spaces}'::text[]) w (name)
            where not exists (select from pg_class c
                where c.oid = to_regclass('ipledger.' || w.name)
                    and c.relkind = 'r' and c.relpersistence = 'p' and not c.relrowsecurity
                    and not exists (select from pg_rewrite r where r.ev_class = c.oid)
                    and not exists (select from pg_inherits i
                        where c.oid in (i.inhparent, i.inhrelid)))",
    },
    Finding {
        what: "owner that can log in, or object of another owner",
        sql: "select distinct r.rolname::text
            from (select relowner as owner from pg_class
                    where relnamespace = to_regnamespace('ipledger')
                union select proowner from pg_proc
                    where pronamespace = to_regnamespace('ipledger')
                union select nspowner from pg_namespace where nspname = 'ipledger') o
            join pg_roles r on r.oid = o.owner
            where r.rolcanlogin or r.rolsuper or r.rolname <> current_database() || '_owner'",
    },
    Finding {
        what: "role that may act as the owner",
        // Beside the migrator, only who made the schema: the owner of the list of migrations, or
        // of the database.
        sql: "select r.rolname::text from pg_roles r, pg_roles o
            where o.rolname = current_database() || '_owner' and r.oid <> o.oid
                and r.rolcanlogin and not r.rolsuper
                and r.rolname <> current_database() || '_migrator'
                and not exists (select from pg_class c
                    where c.oid = to_regclass('public._sqlx_migrations') and c.relowner = r.oid)
                and not exists (select from pg_database d
                    where d.datname = current_database() and d.datdba = r.oid)
                and pg_has_role(r.oid, o.oid, 'member')
            order by 1",
    },
    Finding {
        what: "right to write that nobody should have",
        sql: "select distinct g.object || ': ' || a.privilege_type || ' for '
                || coalesce(r.rolname, 'public')
            from (select c.relname::text as object, c.relacl as acl, c.relowner as owner
                    from pg_class c where c.relnamespace = to_regnamespace('ipledger')
                union all select c.relname || '.' || x.attname, x.attacl, c.relowner
                    from pg_class c join pg_attribute x on x.attrelid = c.oid
                    where c.relnamespace = to_regnamespace('ipledger')
                union all select 'schema ipledger', n.nspacl, n.nspowner
                    from pg_namespace n where n.nspname = 'ipledger') g
            cross join lateral aclexplode(g.acl) a
            left join pg_roles r on r.oid = a.grantee
            where a.grantee <> g.owner and a.privilege_type not in ('SELECT', 'USAGE')",
    },
    Finding {
        // By membership in pg_write_all_data, say, or in a role that was granted something.
        what: "right to write that a role has by other ways",
        sql:
            "select distinct r.rolname || ': ' || c.relname from pg_roles r, pg_roles o, pg_class c
            where o.rolname = current_database() || '_owner'
                and (r.rolname in (current_database() || '_app', current_database() || '_auditor')
                    or r.rolcanlogin and not r.rolsuper and not pg_has_role(r.oid, o.oid, 'member')
                        and has_database_privilege(r.oid, current_database(), 'connect')
                        and has_schema_privilege(r.oid, 'ipledger', 'usage'))
                and c.relkind = 'r'
                and (c.relnamespace = to_regnamespace('ipledger')
                    or c.oid = to_regclass('public._sqlx_migrations'))
                and (has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
                    or has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE'))",
    },
    Finding {
        what: "right to execute that nobody should have",
        sql: "select distinct p.proname || ' for ' || coalesce(r.rolname, 'public')
            from pg_proc p
            cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
            left join pg_roles r on r.oid = a.grantee
            where p.pronamespace = to_regnamespace('ipledger') and a.grantee <> p.proowner
                and not (p.proname in ('append', 'append_and_commit', 'note_boots',
                        'note_boots_and_commit', 'note_calls', 'note_calls_and_commit', 'wake',
                        'index_subjects')
                    and r.rolname is not distinct from current_database() || '_app')",
    },
];
