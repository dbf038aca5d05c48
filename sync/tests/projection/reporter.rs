//! The steps of the first report's author, on our objects.

use ipledger_sync::project::ObjectKind::{Pool, Reservation};

use crate::support::{Scene, shell, until};

#[tokio::test(flavor = "multi_thread")]
async fn scripts_with_kubectl_and_jq_run_unchanged() {
    let scene = Scene::start("reporter").await;
    let address = scene.allocate("10.10.3.0/24", "super-pod").await;
    let world = scene.project();
    scene.shows(1).await;
    until("the pool is there", async || {
        !scene.objects.specs(Pool).await.is_empty()
    })
    .await;
    let right = scene.objects.specs(Pool).await;
    let run = |script: &str| shell(scene.cluster, &script.replace("kube-system", scene.name));

    // Which reservations there are, and for which pods.
    let listed = run(
        "kubectl get overlappingrangeipreservations.whereabouts.cni.cncf.io -n kube-system -o json \
         | jq -r '.items[] | \"\\(.metadata.name) \\(.spec.podref)\"'",
    );
    assert_eq!(listed, format!("{address} default/super-pod\n"));

    // Whether the pod of each is there: here none is.
    let orphans = run(
        "kubectl get overlappingrangeipreservations -n kube-system -o json \
         | jq -r '.items[] | .metadata.name + \" \" + .spec.podref' \
         | while read -r ip podref; do \
             kubectl get pod -n \"${podref%/*}\" \"${podref#*/}\" >/dev/null 2>&1 || echo \"$ip\"; \
           done",
    );
    assert_eq!(orphans, format!("{address}\n"));

    // The entry of the pool, by key and by pod.
    let entry = run(
        "kubectl get ippools.whereabouts.cni.cncf.io 10.10.3.0-24 -n kube-system -o json \
         | jq -c '.spec.allocations | to_entries[] | [.key, .value.podref, .value.ifname]'",
    );
    assert_eq!(entry, "[\"1\",\"default/super-pod\",\"net1\"]\n");

    // The reservation is deleted, and the entry is edited away. Both work, and both are undone,
    // because the ledger says that the address is held.
    run(&format!(
        "kubectl delete overlappingrangeipreservation {address} -n kube-system"
    ));
    run("kubectl get ippool 10.10.3.0-24 -n kube-system -o json \
         | jq 'del(.spec.allocations[] | select(.podref == \"default/super-pod\"))' \
         | kubectl replace -f -");
    until("both are shown again", async || {
        scene.objects.specs(Pool).await == right
            && scene.objects.reservations().await.contains_key(&address)
    })
    .await;

    // What kubectl describe shows to who wonders about it.
    until("the reason is there", async || {
        let described = run("kubectl describe ippool 10.10.3.0-24 -n kube-system");
        described.contains("Restored") && described.contains("since reporter@")
    })
    .await;
    assert!(!scene.objects.notes(Reservation, &address).await.is_empty());
    world.stop().await;
}
