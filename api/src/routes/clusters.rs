//! Clusters: list them, bind a name to the cluster behind it, end what a removed one held.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use ipledger_client::types::{
    BindClusterRequest, Cluster, ClusterPage, ReleaseClusterRequest, ReleaseClusterResponse,
};
use ledger::answer::Answer;
use ledger::command::BindCluster;
use ledger::{Command, ReleaseCluster};
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, JsonBody, Query};
use crate::openapi::problems::{BindClusterProblems, ListProblems, ReleaseClusterProblems};
use crate::problem::{Failure, Keys};
use crate::wire;

const KEYS: Keys = Keys {
    address: "address",
    cluster_uid: "uid",
};

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;

/// Which clusters.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct ClustersQuery {
    /// How many clusters a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
}

/// List clusters
///
/// Every cluster that was bound or has a space, in order of name, with its gate and the number of
/// addresses that it holds.
#[utoipa::path(
    get, path = "/v1/clusters", operation_id = "list_clusters", tag = "clusters",
    params(ClustersQuery),
    responses(
        (status = 200, description = "A page of clusters.", body = ClusterPage),
        ListProblems,
    ),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    mut query: Query,
) -> Result<Json<ClusterPage>, Failure> {
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let given = query.text("cursor");
    query.end()?;
    let cursor = Cursor::new("clusters", []);
    let after: Option<String> = given.map(|text| cursor.read(&text)).transpose()?;
    // One more than asked for tells whether there is a next page.
    let clusters = app.ledger.clusters(after.as_deref(), limit + 1);
    let mut clusters = app.read(&context, clusters).await?;
    let next = cursor.cut(&mut clusters, limit, |last| last.name.clone())?;
    Ok(Json(ClusterPage {
        clusters: clusters.into_iter().map(wire::cluster).collect(),
        next,
    }))
}

/// Bind a cluster
///
/// Binds the name of a cluster to the UID of its `kube-system` namespace. The same UID again
/// changes nothing; another one is refused, here and in every other request that names one.
#[utoipa::path(
    post, path = "/v1/clusters/{cluster}/bind", operation_id = "bind_cluster", tag = "clusters",
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
    let cluster = cluster_of(name)?;
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

/// End what a removed cluster holds
///
/// For a cluster that does not exist any more: nobody else may end its holds. Each of them gets an
/// event with the reason and evidence of the kind `operator`. What the time does not suffice for
/// is told as `remaining`: send the same request again.
#[utoipa::path(
    post, path = "/v1/clusters/{cluster}/release", operation_id = "release_cluster",
    tag = "clusters",
    params(("cluster" = String, Path, description = "Name of the cluster.")),
    request_body = ReleaseClusterRequest,
    responses(
        (status = 200, description = "What was ended; durable.", body = ReleaseClusterResponse),
        ReleaseClusterProblems,
    ),
)]
pub(super) async fn release(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    name: Result<Path<String>, PathRejection>,
    JsonBody { value, .. }: JsonBody<ReleaseClusterRequest>,
) -> Result<Json<ReleaseClusterResponse>, Failure> {
    let cluster = cluster_of(name)?;
    let reason = check::reason(value.reason)?;
    if let Some(uid) = &value.uid {
        check::cluster_uid("uid", uid)?;
    }
    let dry_run = value.dry_run;
    let release = ReleaseCluster {
        cluster: cluster.clone(),
        uid: value.uid,
        reason,
        dry_run,
        provenance: context.provenance(None),
    };
    let wait = context.time_left(value.deadline_ms);
    match app.ledger.release_cluster(&release, wait).await {
        Ok(ended) => Ok(Json(ReleaseClusterResponse {
            cluster,
            released: ended.released,
            remaining: ended.remaining,
            dry_run,
        })),
        Err(error) => Err(app.explain(error, KEYS).await),
    }
}

/// The name of a cluster in a path.
pub(super) fn cluster_of(name: Result<Path<String>, PathRejection>) -> Result<String, Failure> {
    let Path(cluster) = name.map_err(|rejection| {
        let problem = format!("cannot be read: {}", rejection.body_text());
        Failure::invalid("cluster", "", &problem)
    })?;
    check::cluster("cluster", &cluster)?;
    Ok(cluster)
}
