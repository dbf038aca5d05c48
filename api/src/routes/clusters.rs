//! Clusters: bind a name to the cluster behind it.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use ipledger_client::types::{BindClusterRequest, Cluster};
use ledger::Command;
use ledger::answer::Answer;
use ledger::command::BindCluster;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::JsonBody;
use crate::openapi::problems::BindClusterProblems;
use crate::problem::{Failure, Keys};

const KEYS: Keys = Keys {
    address: "address",
    cluster_uid: "uid",
};

/// Bind a cluster
///
/// Binds the name of a cluster to the UID of its `kube-system` namespace. The same UID again
/// changes nothing; another one is refused, here and in every allocate.
#[utoipa::path(
    post, path = "/v1/clusters/{cluster}/bind", operation_id = "bind_cluster", tag = "spaces",
    params(("cluster" = String, Path, description = "Name of the cluster.")),
    request_body = BindClusterRequest,
    responses(
        (status = 200, description = "The cluster as it is bound; durable.", body = Cluster),
        BindClusterProblems,
    ),
)]
pub(super) async fn bind(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    name: Result<Path<String>, PathRejection>,
    JsonBody { value, .. }: JsonBody<BindClusterRequest>,
) -> Result<Json<Cluster>, Failure> {
    let Path(cluster) = name.map_err(|rejection| {
        Failure::invalid(
            "cluster",
            "",
            &format!("cannot be read: {}", rejection.body_text()),
        )
    })?;
    check::cluster("cluster", &cluster)?;
    check::cluster_uid("uid", &value.uid)?;
    let command = Command::BindCluster(Box::new(BindCluster {
        cluster: cluster.clone(),
        uid: value.uid,
        provenance: context.provenance(None),
    }));
    match app.ledger.execute(command, context.time_left(None)).await {
        Ok(Answer::ClusterBound(uid)) => Ok(Json(Cluster {
            name: cluster,
            uid: Some(uid),
        })),
        Ok(_) => Err(Failure::wrong_answer()),
        Err(error) => Err(app.explain(error, KEYS).await),
    }
}
