//! `make demo`: one address, two pods, and a ledger that cannot hold a duplicate.

use anyhow::{Result, ensure};
use e2e::chain::{Node, Pod};
use e2e::scenario::{self, ADDRESS, CLUSTER, FIRST_CONTAINER, SECOND_CONTAINER, THIRD_CONTAINER};
use e2e::screen::Screen;
use e2e::service::Service;
use e2e::{binaries, table};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut screen = Screen::new();
    let directory = binaries::directory()?;
    screen.heading("Start the service, with a PostgreSQL of its own")?;
    let service = Service::start(&directory.join("ipledger-api"))?;
    let api = service.address();
    screen.line(&format!("ipledger-api answers on {api}"))?;
    let node = Node::new("node-1", &directory.join("ipledger"), &api, CLUSTER)?;
    screen.line("a network namespace is the node, with a link eth1 for macvlan")?;
    screen.line("the definition has exactly one address, and asks for `type: whereabouts`:")?;
    screen.block(scenario::DEFINITION)?;

    let first = scenario::pod("super-pod", FIRST_CONTAINER)?;
    first_pod(&mut screen, &node, &first)?;
    let second = scenario::pod("super-pod2", SECOND_CONTAINER)?;
    refusal(&mut screen, &node, &second)?;
    forgery(&mut screen, &service).await?;
    // A runtime gives a failed sandbox up and tries again with a new one.
    scenario::delete(&node, &second)?;
    drop(second);
    let second = scenario::pod("super-pod2", THIRD_CONTAINER)?;
    hand_over(&mut screen, &node, &first, &second)?;
    history(&mut screen, &service)?;
    scenario::delete(&node, &second)?;
    screen.end(
        "The service, its database and the namespaces are removed.\n\
         Next: `ipledger-api dev` keeps one running; README.md has a curl to try.",
    )
}

fn first_pod(screen: &mut Screen, node: &Node, pod: &Pod) -> Result<()> {
    screen.heading("Pod default/super-pod asks through the real macvlan plugin (CNI ADD)")?;
    let given = scenario::given(&scenario::add(node, pod)?)?;
    let seen = pod.namespace.addresses("net1")?;
    ensure!(
        seen == [given.clone()],
        "the pod's net1 has {seen:?}, not {given}"
    );
    screen.line(&format!("Add net1 [{given}] from default/super-net"))?;
    screen.line(&format!(
        "in the pod's namespace, net1 has {}",
        seen.join(", ")
    ))
}

fn refusal(screen: &mut Screen, node: &Node, pod: &Pod) -> Result<()> {
    screen.heading("Pod default/super-pod2 asks for an address of the same network")?;
    let refused = scenario::add(node, pod)?;
    ensure!(!refused.success, "a second pod got the one address");
    screen.line(&format!("refused with CNI code {}:", refused.json["code"]))?;
    screen.block(&refused.message())
}

async fn forgery(screen: &mut Screen, service: &Service) -> Result<()> {
    screen.heading("Somebody writes a second holder into the database with plain SQL")?;
    let [again, out_of_turn] = scenario::forge(service).await?;
    screen.line("insert the same step of the address again. PostgreSQL:")?;
    screen.block(&again)?;
    screen.line("insert the next allocation without a release. PostgreSQL:")?;
    screen.block(&out_of_turn)
}

fn hand_over(screen: &mut Screen, node: &Node, first: &Pod, second: &Pod) -> Result<()> {
    screen.heading("super-pod is deleted (CNI DEL), and super-pod2 tries again")?;
    let deleted = scenario::delete(node, first)?;
    ensure!(deleted.success, "DEL failed: {}", deleted.message());
    let given = scenario::given(&scenario::add(node, second)?)?;
    ensure!(given.starts_with(ADDRESS), "super-pod2 got {given}");
    screen.line(&format!("Add net1 [{given}] from default/super-net"))
}

fn history(screen: &mut Screen, service: &Service) -> Result<()> {
    screen.heading(&format!("Who had {ADDRESS}, when, and who said so"))?;
    let lines = scenario::history(service)?;
    ensure!(
        lines.len() == 3,
        "three events were expected, not {lines:?}"
    );
    let rows: Vec<Vec<String>> = lines
        .into_iter()
        .map(|line| {
            let held = if line.step % 2 == 0 { "held" } else { "free" };
            vec![
                line.seq.to_string(),
                line.recorded_at,
                format!("{} ({held})", line.step),
                line.kind,
                line.pod,
                line.node,
                line.reason,
                line.actor,
            ]
        })
        .collect();
    let header = [
        "SEQ",
        "RECORDED AT",
        "STEP",
        "EVENT",
        "POD",
        "NODE",
        "REASON",
        "ACTOR",
    ];
    screen.block(&table::align(&header, &rows))
}
