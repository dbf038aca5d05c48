//! The plugin's promises through plugin, API and PostgreSQL: the lines of the CNI checklist that a
//! server in place of the API could only say it keeps.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::binaries;
use e2e::service::Service;
use serde_json::{Value, json};

/// A service, and a node that calls the plugin as a runtime does.
struct Site {
    service: Service,
    program: PathBuf,
    directory: tempfile::TempDir,
}

/// What a call came to.
#[derive(Debug)]
struct Told {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Told {
    fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("{self:?}"))
    }

    /// The code of a failure.
    fn code(&self) -> Result<u64> {
        ensure!(self.status == Some(1), "{self:?}");
        self.json()?["code"].as_u64().context("a code")
    }

    fn success(&self) -> Result<()> {
        ensure!(self.status == Some(0), "{self:?}");
        Ok(())
    }

    /// The address of an ADD.
    fn address(&self) -> Result<String> {
        self.success()?;
        let address = &self.json()?["ips"][0]["address"];
        Ok(address.as_str().context("an address")?.to_owned())
    }
}

impl Site {
    fn start() -> Result<Site> {
        Site::start_with(&[])
    }

    fn start_with(environment: &[(&str, &str)]) -> Result<Site> {
        let binaries = binaries::directory()?;
        Ok(Site {
            service: Service::start_with(&binaries.join("ipledger-api"), environment)?,
            program: binaries.join("ipledger"),
            directory: tempfile::tempdir()?,
        })
    }

    fn queue(&self) -> PathBuf {
        self.directory.path().join("queue")
    }

    /// A call for a sandbox of the pod `default/<container>`.
    fn call(&self, verb: &str, container: &str) -> Call<'_> {
        let variables = [
            ("CNI_COMMAND", verb.to_owned()),
            ("CNI_CONTAINERID", container.to_owned()),
            ("CNI_IFNAME", "net1".to_owned()),
            ("CNI_NETNS", "/var/run/netns/gone".to_owned()),
            ("CNI_PATH", "/opt/cni/bin".to_owned()),
            (
                "CNI_ARGS",
                format!(
                    "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={container};\
                     K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID=uid-{container}"
                ),
            ),
            ("NODENAME", "node-1".to_owned()),
            ("IPLEDGER_API_URL", self.service.address()),
            ("IPLEDGER_QUEUE_DIR", self.queue().display().to_string()),
        ];
        Call {
            program: &self.program,
            variables: variables.map(|(k, v)| (k.to_owned(), v)).into(),
            definition: json!({
                "cniVersion": "1.1.0", "name": "super-net", "type": "macvlan",
                "ipam": {"type": "ipledger", "cluster": "prod", "range": "10.10.3.0/29",
                         "timeout_seconds": 5},
            }),
        }
    }

    /// GC with these sandboxes' `net1` as the valid ones.
    fn gc(&self, valid: &[&str]) -> Call<'_> {
        let entry = |id: &&str| json!({"containerID": id, "ifname": "net1"});
        let list: Vec<Value> = valid.iter().map(entry).collect();
        self.call("GC", "none")
            .key("cni.dev/valid-attachments", json!(list))
    }

    /// (address, sandbox) of every hold.
    fn held(&self) -> Result<Vec<(String, String)>> {
        let holds = self.service.get("/v1/holds")?;
        let text = |value: &Value| value.as_str().map(str::to_owned).context("text");
        holds["holds"]
            .as_array()
            .context("holds")?
            .iter()
            .map(|hold| {
                Ok((
                    text(&hold["address"])?,
                    text(&hold["attachment"]["container_id"])?,
                ))
            })
            .collect()
    }

    fn events(&self) -> Result<Vec<Value>> {
        let events = self.service.get("/v1/events?space=prod")?;
        Ok(events["events"].as_array().context("events")?.clone())
    }
}

/// One call to be made.
struct Call<'a> {
    program: &'a PathBuf,
    variables: BTreeMap<String, String>,
    definition: Value,
}

impl Call<'_> {
    fn set(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    fn key(mut self, key: &str, value: Value) -> Self {
        self.definition[key] = value;
        self
    }

    /// With a key of the `ipam` block.
    fn ipam(mut self, key: &str, value: Value) -> Self {
        self.definition["ipam"][key] = value;
        self
    }

    fn run(&self) -> Result<Told> {
        self.run_into(Stdio::piped())
    }

    fn run_into(&self, stdout: Stdio) -> Result<Told> {
        let mut child = Command::new(self.program)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()?;
        let definition = self.definition.to_string();
        child
            .stdin
            .take()
            .context("standard input")?
            .write_all(definition.as_bytes())?;
        let output = child.wait_with_output()?;
        Ok(Told {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }
}

#[test]
fn a8_a_repeat_gives_the_same_answer_and_appends_nothing() -> Result<()> {
    let site = Site::start()?;
    let first = site.call("ADD", "c1").run()?;
    assert_eq!(first.address()?, "10.10.3.1/29");
    let again = site.call("ADD", "c1").run()?;
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(site.call("ADD", "c2").run()?.address()?, "10.10.3.2/29");
    assert_eq!(site.events()?.len(), 2);
    Ok(())
}

/// The result cannot be written, so nobody learned of the address.
#[test]
fn a12_what_nobody_learned_of_is_free_again() -> Result<()> {
    let site = Site::start()?;
    let full = std::fs::File::options().write(true).open("/dev/full")?;
    let told = site.call("ADD", "c1").run_into(full.into())?;
    assert_eq!(told.status, Some(1), "{told:?}");
    assert_eq!(site.held()?, []);
    let reasons: Vec<Value> = site
        .events()?
        .iter()
        .map(|event| event["payload"]["reason"].clone())
        .collect();
    assert_eq!(reasons, ["add", "del"]);
    assert_eq!(site.call("ADD", "c2").run()?.address()?, "10.10.3.1/29");
    Ok(())
}

#[test]
fn c3_check_succeeds_right_after_the_add_and_writes_nothing() -> Result<()> {
    let site = Site::start()?;
    for container in ["c1", "c2", "c3"] {
        let added = site.call("ADD", container).run()?;
        let before = site.events()?;
        let check = site.call("CHECK", container);
        check.key("prevResult", added.json()?).run()?.success()?;
        assert_eq!(site.events()?, before);
    }
    Ok(())
}

#[test]
fn c2_a_reservation_that_ended_is_code_104() -> Result<()> {
    let site = Site::start()?;
    let added = site.call("ADD", "c1").run()?;
    let check = || site.call("CHECK", "c1");
    check().key("prevResult", added.json()?).run()?.success()?;
    // The pod's address as it might be after somebody edited it.
    let mut other = added.json()?;
    other["ips"][0]["address"] = json!("10.10.3.5/29");
    assert_eq!(check().key("prevResult", other).run()?.code()?, 104);
    site.call("DEL", "c1").run()?.success()?;
    let told = check().key("prevResult", added.json()?).run()?;
    assert_eq!(told.code()?, 104);
    let message = told.json()?["msg"].clone();
    assert_eq!(message, "the ledger holds no address for this attachment");
    Ok(())
}

/// The DEL waits on the node, the runtime asks again for the same sandbox, and then the DEL comes.
#[test]
fn d5_a_del_that_comes_late_frees_nothing_of_a_later_add() -> Result<()> {
    let site = Site::start()?;
    let given = site.call("ADD", "c1").run()?.address()?;
    let elsewhere = site
        .directory
        .path()
        .join("elsewhere")
        .display()
        .to_string();
    let away = site
        .call("DEL", "c1")
        .set("IPLEDGER_API_URL", "http://127.255.0.1:1")
        .set("IPLEDGER_QUEUE_DIR", &elsewhere)
        .ipam("timeout_seconds", json!(1))
        .run()?;
    away.success()?;
    assert_eq!(site.call("ADD", "c1").run()?.address()?, given);
    let drain = Command::new(&site.program)
        .args(["drain", "--queue-dir", &elsewhere])
        .args(["--api", &site.service.address()])
        .env_clear()
        .output()?;
    let told = String::from_utf8(drain.stdout)?;
    assert_eq!(told, "1 delivered, 0 waiting, 0 set aside\n");
    assert_eq!(site.held()?, [("10.10.3.1".to_owned(), "c1".to_owned())]);
    assert_eq!(site.events()?.len(), 1);
    // Nor does the DEL of another sandbox, or of another interface.
    site.call("DEL", "c2").run()?.success()?;
    let other = site.call("DEL", "c1").set("CNI_IFNAME", "net2");
    other.run()?.success()?;
    assert_eq!(site.held()?.len(), 1);
    site.call("DEL", "c1").run()?.success()?;
    assert_eq!(site.held()?, []);
    Ok(())
}

/// The same on one node: the ADD delivers its own DEL first.
#[test]
fn d5_a_release_that_waits_for_the_same_attachment_comes_before_its_add() -> Result<()> {
    let site = Site::start()?;
    site.call("ADD", "c1").run()?.success()?;
    let away = site.call("DEL", "c1").ipam("timeout_seconds", json!(1));
    let away = away.set("IPLEDGER_API_URL", "http://127.255.0.1:1");
    away.run()?.success()?;
    site.call("ADD", "c1").run()?.success()?;
    let kinds: Vec<Value> = site.events()?.iter().map(|e| e["kind"].clone()).collect();
    assert_eq!(kinds, ["allocated", "released", "allocated"]);
    assert_eq!(site.held()?.len(), 1);
    Ok(())
}

#[test]
fn t1_t3_status_says_whether_an_add_would_be_served() -> Result<()> {
    let mut site = Site::start()?;
    site.call("STATUS", "none").run()?.success()?;
    for number in 1..=6 {
        let container = format!("c{number}");
        site.call("ADD", &container).run()?.success()?;
    }
    assert_eq!(site.call("ADD", "c7").run()?.code()?, 100);
    let full = site.call("STATUS", "none").run()?;
    assert_eq!(full.code()?, 50);
    let never = site.call("STATUS", "none");
    never
        .ipam("status_when_exhausted", json!("never"))
        .run()?
        .success()?;
    site.call("DEL", "c1").run()?.success()?;
    site.call("STATUS", "none").run()?.success()?;
    site.service.stop()?;
    let away = site.call("STATUS", "none");
    assert_eq!(away.ipam("timeout_seconds", json!(1)).run()?.code()?, 50);
    Ok(())
}

#[test]
fn g2_g8_gc_frees_what_two_lists_a_grace_apart_do_not_name() -> Result<()> {
    let site = Site::start_with(&[("IPLEDGER_GC_GRACE_SECONDS", "1")])?;
    for container in ["c1", "c2", "c3"] {
        site.call("ADD", container).run()?.success()?;
    }
    let first = site.gc(&["c1"]).run()?;
    first.success()?;
    assert_eq!(first.stderr, "ipledger GC: 0 released, 2 suspect\n");
    assert_eq!(site.held()?.len(), 3, "one list frees nothing");
    // The node's clock brings the grace.
    let deadline = Instant::now() + Duration::from_secs(30);
    while site.held()?.len() > 2 {
        ensure!(Instant::now() < deadline, "c2 is not freed");
        site.gc(&["c1", "c3"]).run()?.success()?;
    }
    let held: Vec<String> = site.held()?.into_iter().map(|(_, id)| id).collect();
    assert_eq!(held, ["c1", "c3"]);
    let events = site.events()?;
    let payload = &events.last().context("an event")?["payload"];
    assert_eq!(payload["reason"], "gc");
    assert_eq!(payload["evidence"]["second_list_length"], 2);
    assert_eq!(payload["ended"]["attachment"]["container_id"], "c2");
    assert_eq!(payload["ended"]["owner"]["name"], "c2");
    Ok(())
}
