//! docker-compose.yml, brought up and used with the commands of docs/install.md.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{POSTGRES_IMAGE, docker, documented, run, say_not_run, script, with_engine};

/// Where the documented commands expect the API.
const DOCUMENTED_LISTEN: &str = "127.0.0.1:8311";

#[test]
fn the_documented_commands_serve_an_address() {
    let name = "docker::compose::the_documented_commands_serve_an_address";
    let Some(program) = compose_program() else {
        return say_not_run(
            name,
            "neither docker compose nor docker-compose is installed",
        );
    };
    // Most of it is for the release build of a clean clone (`make static` makes it beforehand).
    with_engine(name, 1500, || {
        run(&mut script("tests/docker/images"));
        let project = Project::new(program);
        run(script("deploy/build-image").arg(&project.image));
        allocate_as_documented(&project);
        the_containers_may_do_little(&project);
        survives_down_and_up(&project);
        project.down_leaves_nothing();
    });
}

/// The words that start Compose here.
fn compose_program() -> Option<&'static [&'static str]> {
    const KNOWN: [&[&str]; 2] = [&["docker", "compose"], &["docker-compose"]];
    KNOWN.into_iter().find(|words| {
        let output = Command::new(words[0])
            .args(&words[1..])
            .arg("version")
            .output();
        output.is_ok_and(|output| output.status.success())
    })
}

fn allocate_as_documented(project: &Project) {
    let commands = documented::commands("Docker Compose");
    assert!(
        commands
            .iter()
            .any(|command| command == "docker-compose up -d"),
        "{commands:?}"
    );
    assert!(
        commands
            .iter()
            .any(|command| command == "docker-compose down -v"),
        "{commands:?}"
    );
    project.compose(&["up", "-d"]);
    project.wait_for_health();

    let curls: Vec<_> = commands.iter().filter(|c| c.starts_with("curl ")).collect();
    let answers: Vec<_> = curls.iter().map(|curl| project.shell(curl)).collect();
    let [_ready, allocated, looked_up] = answers.as_slice() else {
        panic!("other commands than this test knows: {curls:?}");
    };
    let allocated: Value = serde_json::from_str(allocated).expect("JSON");
    assert_eq!(
        allocated["addresses"][0]["address"],
        json!("10.10.3.30"),
        "{allocated}"
    );
    assert_eq!(allocated["repeated"], json!(false), "{allocated}");
    assert!(looked_up.contains("\"10.10.3.30\""), "{looked_up}");
    // The same command once more: the same address, and nothing new.
    let repeated: Value = serde_json::from_str(&project.shell(curls[1])).expect("JSON");
    assert_eq!(repeated["addresses"], allocated["addresses"]);
    assert_eq!(repeated["repeated"], json!(true), "{repeated}");
}

fn the_containers_may_do_little(project: &Project) {
    for (service, network) in [("postgres", "none"), ("api", "host")] {
        let format = "{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} \
                      {{.HostConfig.NetworkMode}} {{len .HostConfig.PortBindings}}";
        let facts = run(&mut docker(&[
            "inspect",
            "-f",
            format,
            &project.container(service),
        ]));
        let user = if service == "api" {
            "65532:65532"
        } else {
            "postgres"
        };
        assert_eq!(facts, format!("{user} true [ALL] {network} 0"), "{service}");
    }
    let roles = "select usename from pg_stat_activity where application_name like 'ipledger%'";
    let roles: BTreeSet<_> = project.psql(roles).lines().map(str::to_owned).collect();
    assert_eq!(roles, BTreeSet::from(["ipledger_app".to_owned()]));
}

/// The volume keeps the ledger; migration and password are applied again without harm.
fn survives_down_and_up(project: &Project) {
    let events = "select count(*) from ipledger.events";
    let before = project.psql(events);
    project.compose(&["down"]);
    project.compose(&["up", "-d"]);
    project.wait_for_health();
    assert_eq!(project.psql(events), before);
    let commands = documented::commands("Docker Compose");
    let look_up = commands
        .iter()
        .rfind(|c| c.starts_with("curl "))
        .expect("a look-up");
    assert!(project.shell(look_up).contains("\"10.10.3.30\""));
}

/// One Compose project of our own, gone when this is dropped.
struct Project {
    program: &'static [&'static str],
    name: String,
    image: String,
    listen: SocketAddr,
}

impl Project {
    fn new(program: &'static [&'static str]) -> Self {
        let name = format!("ipledger-test-{}", std::process::id());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self {
            program,
            image: format!("ipledger-test/ipledger:{}", std::process::id()),
            name,
            listen: listener.local_addr().expect("an address"),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg("180")
            .args(self.program)
            .args(["-p", &self.name])
            .args(arguments)
            .current_dir(super::repository())
            .env("POSTGRES_IMAGE", POSTGRES_IMAGE)
            .env("IPLEDGER_IMAGE", &self.image)
            .env("IPLEDGER_LISTEN", self.listen.to_string())
            // Not the defaults, so that one left unset somewhere fails.
            .env("POSTGRES_PASSWORD", "test-superuser")
            .env("IPLEDGER_APP_PASSWORD", "test-app");
        command
    }

    fn compose(&self, arguments: &[&str]) -> String {
        run(&mut self.command(arguments))
    }

    fn container(&self, service: &str) -> String {
        self.compose(&["ps", "-q", service])
    }

    /// A documented command, sent to where this project listens.
    fn shell(&self, command: &str) -> String {
        let command = command.replace(DOCUMENTED_LISTEN, &self.listen.to_string());
        run(Command::new("timeout").args(["60", "sh", "-c", &command]))
    }

    fn psql(&self, sql: &str) -> String {
        let url = "postgres://postgres:test-superuser@%2Fvar%2Frun%2Fpostgresql/ipledger";
        self.compose(&["exec", "-T", "postgres", "psql", "-AtX", "-c", sql, url])
    }

    fn wait_for_health(&self) {
        let api = self.container("api");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let health = run(&mut docker(&[
                "inspect",
                "-f",
                "{{.State.Health.Status}}",
                &api,
            ]));
            if health == "healthy" {
                return;
            }
            let logs = || self.compose(&["logs"]);
            assert!(
                health == "starting" && Instant::now() < deadline,
                "{health}\n{}",
                logs()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn down_leaves_nothing(&self) {
        self.compose(&["down", "-v"]);
        let label = format!("label=com.docker.compose.project={}", self.name);
        let filter = ["--filter", label.as_str()];
        for list in [
            ["ps", "-aq"].as_slice(),
            &["volume", "ls", "-q"],
            &["network", "ls", "-q"],
        ] {
            assert_eq!(run(docker(list).args(filter)), "", "{list:?}");
        }
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // After a failure; otherwise there is nothing left and this says so.
        let _ = self.command(&["down", "-v", "--timeout", "10"]).output();
        let _ = docker(&["rmi", "-f", &self.image]).output();
    }
}
