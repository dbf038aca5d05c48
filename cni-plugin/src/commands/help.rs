pub(super) const GENERAL: &str = "\
ipledger: a CNI IPAM plugin that keeps every address in a ledger

Usage:
  A container runtime or Multus runs it, with CNI_COMMAND set and a network
  configuration on standard input. By hand:

  ipledger drain [OPTIONS]   deliver the releases that wait on this node
  ipledger install [OPTIONS] put this program into the CNI directory of the node
  ipledger --version         print the version
  ipledger --help            print this text

In a network configuration:
  \"ipam\": { \"type\": \"ipledger\", \"cluster\": \"prod\", \"range\": \"10.10.3.0/24\" }

  Keys: range, range_start, range_end, exclude, ipRanges, gateway, routes, dns,
  addresses, network_name, enable_overlapping_ranges, configuration_path (as in
  whereabouts); api, cluster, cluster_uid, token_file, queue_dir,
  timeout_seconds, node, order (lowest_free, longest_idle), cooldown and sticky
  (seconds, or such as 60s), ips_outside_window (true, false),
  status_when_exhausted (all, any, never).
  With \"type\": \"whereabouts\" existing definitions are read as whereabouts reads
  them.

Environment (each wins over the key in the configuration):
  IPLEDGER_API_URL     addresses of the API, separated by commas
                       (key api, default http://127.0.0.1:8311)
  IPLEDGER_CLUSTER     name of the Kubernetes cluster (key cluster, no default)
  IPLEDGER_CLUSTER_UID UID of its kube-system namespace (key cluster_uid)
  IPLEDGER_TOKEN_FILE  file with the bearer token for the API (key token_file)
  IPLEDGER_QUEUE_DIR   where releases wait (key queue_dir,
                       default /var/lib/ipledger/queue)
  NODENAME             name of the node (key node, default a nodename file, see
                       below)

Files:
  Keys for every definition of the node; the first that exists is taken, alone:
    the path in the key configuration_path
    /etc/cni/net.d/ipledger.d/ipledger.conf
    /etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf
    /etc/cni/net.d/whereabouts.d/whereabouts.conf
    /host/etc/cni/net.d/whereabouts.d/whereabouts.conf
  The name of the node, if neither NODENAME nor the key node says it:
    nodename in configuration_path (a directory), or beside the file above
    /etc/cni/net.d/ipledger.d/nodename, /etc/cni/net.d/whereabouts.d/nodename
    /etc/hostname
  /var/lib/ipledger/queue            releases that wait, one file each
  /var/lib/ipledger/queue/set-aside  releases that can never be delivered, each
                                     with its reason in a file beside it
  /proc/sys/kernel/random/boot_id    the boot, by which calls are ordered

Exit status: 0 success; 1 failure, with a JSON object on standard output.

Codes in that object:
    1  cniVersion is not spoken, or does not have this command
    2  a key that cannot be meant
    4  an environment variable is missing or wrong
    5  reading or writing failed on this node
    6  the input is not JSON
    7  the network configuration cannot be meant
   11  try again later: the API cannot be reached or cannot decide now
   50  STATUS: an ADD would not be served now
  100  no address is free
  101  the API does not allow this node or token to ask
  102  the requested address is held by another
  103  the requested address may not be handed out here
  104  CHECK: the addresses are not reserved for this attachment
  106  the free addresses rest after their release
  107  a later call for this pod and interface was applied before
  108  the request contradicts what the ledger has
";

pub(super) const DRAIN: &str = "\
Deliver the releases that wait on this node, and name those that cannot be.

Usage: ipledger drain [OPTIONS]

Options:
  --queue-dir DIR    where releases wait (IPLEDGER_QUEUE_DIR, or queue_dir in the
                     flat file, default /var/lib/ipledger/queue)
  --api ADDRESSES    deliver to these, separated by commas (IPLEDGER_API_URL).
                     Default: the flat file's, for releases of its cluster; for
                     others the addresses that each release was meant for
  --token-file FILE  bearer token for --api (IPLEDGER_TOKEN_FILE)
  --timeout SECONDS  stop after this time (default 60)
  --help             print this text

A release that the API refuses for good, or a file that cannot be understood, is
moved to DIR/set-aside with the reason beside it. Nothing is ever deleted that
the ledger does not have.

Exit status:
  0  nothing waits any more
  1  releases wait on; run it again when the API is back
  2  wrong usage, or a flat file that cannot be used
  3  nothing waits any more, but releases were set aside by this run
";

pub(super) const INSTALL: &str = "\
Put this program into the CNI directory of the node, where runtimes look for it.

Usage: ipledger install [OPTIONS]

Options:
  --dir DIR         the directory, which must exist (default /opt/cni/bin)
  --as-whereabouts  also under the name whereabouts, so that existing definitions
                    are served; replaces whereabouts' own binary
  --help            print this text

A runtime that calls the plugin meanwhile runs the old file or the new one, never
a part of one: the file is written beside the name, synced, and renamed over it.
A link under the name is replaced, and what it points to stays as it is. A file
that is the same already is left alone.

Exit status:
  0  every name has this program
  1  a name could not be written; whatever was there is there still
  2  wrong usage
";
