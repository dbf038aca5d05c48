//! What the other commands come to: releases, imports, reservations, bound clusters.

use super::*;

impl Naive {
    /// End a hold; the call is remembered for the holder, for the pod, and for who ended it.
    pub(super) fn end(
        &mut self,
        space: &str,
        ip: &str,
        token: Option<Token>,
        ender: Option<Caller>,
    ) -> u64 {
        let index = self.find(space).expect("the space of a hold");
        self.spaces[index].seq += 1;
        let (seq, network_name) = (self.spaces[index].seq, self.spaces[index].network_name);
        let now = self.now;
        let mut addresses = self.addresses.iter_mut();
        let address = addresses
            .find(|a| a.space == space && a.ip == ip)
            .expect("it is held");
        address.step += 1;
        address.seq = seq;
        address.at = now;
        let ended = address.clone();
        let (sandbox, ifname) = match ended.holder {
            Holder::Own(interface) => (interface.sandbox, Some(interface.ifname)),
            Holder::Imported { sandbox, ifname } => (sandbox, ifname),
            Holder::Nobody(_) => return seq,
        };
        self.ended.push(Ended {
            network_name,
            space: index,
            ip: ended.ip,
            sandbox,
            ifname,
            step: ended.step - 1,
            seq: ended.allocated_seq,
        });
        let rank = |token: &Token| self.rank(*token);
        let last = [token, ended.token].into_iter().flatten().max_by_key(rank);
        let pod = match ended.holder {
            Holder::Own(interface) => Naive::pod(interface),
            Holder::Imported { .. } | Holder::Nobody(_) => None,
        };
        if let Some(last) = last {
            self.remember(Caller::Holder(ended.holder), last);
            pod.into_iter().for_each(|pod| self.remember(pod, last));
        }
        if let (Some(token), Some(ender)) = (token, ender) {
            self.remember(ender, token);
        }
        seq
    }

    pub(super) fn del(&mut self, interface: Interface, token: Option<Token>) -> String {
        self.see(token);
        let held: Vec<Address> = self
            .held_by_interface(interface)
            .into_iter()
            .cloned()
            .collect();
        let of_sandbox = Holder::Imported {
            sandbox: interface.sandbox,
            ifname: None,
        };
        if held.is_empty() {
            self.tombstones.bury(interface, token, self.now);
            return "released".to_owned();
        }
        // Some of them may be the other interface's.
        if held.len() > 1 && held[0].holder == of_sandbox {
            return "released".to_owned();
        }
        let overtaken = |address: &Address| match (token, address.token) {
            (Some(deleted), Some(added)) => self.rank(deleted) < self.rank(added),
            _ => false,
        };
        if held.iter().any(overtaken) {
            return "released stale".to_owned();
        }
        let mut told = "released".to_owned();
        let caller = Caller::Holder(Holder::Own(interface));
        for address in &held {
            let seq = self.end(&address.space, address.ip, token, Some(caller));
            let (ip, step, space) = (address.ip, address.step + 1, &address.space);
            told.push_str(&format!(" {ip} of {space} step {step} seq {seq}"));
        }
        told
    }

    pub(super) fn free(&mut self, space: &str, ip: &str, step: u32) -> String {
        if self.find(space).is_none() {
            return "refused not_found".to_owned();
        }
        let Some(address) = self.address(space, ip) else {
            return format!("refused step_mismatch {step} none");
        };
        let (actual, seq) = (address.step, address.seq);
        if step == actual && Naive::is_reserved(address) {
            return format!("refused address_reserved {ip} of {space} step {step} seq {seq}");
        }
        if step == actual && Naive::is_held(address) {
            let seq = self.end(space, ip, None, None);
            return format!("ended {ip} of {space} step {} seq {seq}", step + 1);
        }
        if step.is_multiple_of(2) && actual == step + 1 {
            return format!("had ended {ip} of {space} step {actual} seq {seq}");
        }
        format!("refused step_mismatch {step} {actual}")
    }

    /// What the history says of an import before it is decided. An interface that is not known
    /// may be any.
    pub(crate) fn ended_before(&self, import: &Import) -> Option<(u32, u64)> {
        let same_ifname = |ended: &Ended| match (ended.ifname, import.ifname) {
            (Some(ended), Some(imported)) => ended == imported,
            _ => true,
        };
        self.ended
            .iter()
            .filter(|ended| ended.network_name == import.selector.network_name)
            .filter(|ended| ended.ip == ADDRESSES[import.ip] && ended.sandbox == import.sandbox)
            .filter(|ended| same_ifname(ended))
            .max_by_key(|ended| (ended.step, ended.space))
            .map(|ended| (ended.step, ended.seq))
    }

    pub(super) fn import(&mut self, import: &Import) -> String {
        self.try_import(import).unwrap_or_else(|told| told)
    }

    pub(super) fn try_import(&mut self, import: &Import) -> Result<String, String> {
        let (pool, ip) = (POOLS[import.pool], ADDRESSES[import.ip]);
        if !in_pool(pool, ip) {
            return Err(format!("refused invalid_request address {ip}"));
        }
        let space = self.resolve(import.selector, pool)?;
        let holder = imported_holder(import);
        if let Some(address) = self.address(&space, ip) {
            let (step, seq) = (address.step, address.allocated_seq);
            match (address.holder == holder, Naive::is_held(address)) {
                (true, true) => return Ok(format!("import held step {step} seq {seq}")),
                (true, false) => return Ok(format!("import ended step {} seq {seq}", step - 1)),
                (false, _) => {}
            }
        }
        if let Some((step, seq)) = self.ended_before(import) {
            return Ok(format!("import ended step {step} seq {seq}"));
        }
        self.check_fixed(&space, ip, false)?;
        let index = self.open(&space);
        let mut positions = self
            .held_by(holder)
            .into_iter()
            .map(|address| address.position);
        let position = positions.next_back().map_or(0, |last| last + 1);
        let choice = Choice { ip, space: index };
        let address = self.hold(&choice, pool, holder, position);
        Ok(format!(
            "imported step {} seq {}",
            address.step, address.seq
        ))
    }

    pub(super) fn reserve(&mut self, reserve: &Reserve) -> String {
        self.try_reserve(reserve).unwrap_or_else(|told| told)
    }

    pub(super) fn try_reserve(&mut self, reserve: &Reserve) -> Result<String, String> {
        let (pool, ip) = (POOLS[reserve.pool], ADDRESSES[reserve.ip]);
        if !in_pool(pool, ip) {
            return Err(format!("refused invalid_request address {ip}"));
        }
        let space = self.resolve(reserve.selector, pool)?;
        let mut rest = 0;
        if let Some(address) = self.address(&space, ip) {
            if Naive::is_reserved(address) && address.holder == Holder::Nobody(reserve.reason) {
                return Ok(format!("had reserved{}", receipt(address)));
            }
            if self.is_cooling(address) && self.kept_for(address).is_none() {
                let left = Naive::until(address) - self.now;
                rest = u32::try_from((left + 999_999) / 1_000_000).expect("a month at most");
            } else {
                self.check_fixed(&space, ip, false)?;
            }
        }
        let index = self.open(&space);
        let holder = Holder::Nobody(reserve.reason);
        let address = self.hold(&Choice { ip, space: index }, pool, holder, 0);
        address.rest = rest;
        Ok(format!("reserved{}", receipt(address)))
    }

    pub(super) fn give_back(&mut self, space: &str, ip: &str, step: u32) -> String {
        let address = self.address(space, ip).expect("an address to give back");
        let (actual, seq, allocated_seq) = (address.step, address.seq, address.allocated_seq);
        let was_reserved = matches!(address.holder, Holder::Nobody(_));
        if step == actual && Naive::is_reserved(address) {
            let seq = self.end(space, ip, None, None);
            return format!("ended {ip} of {space} step {} seq {seq}", step + 1);
        }
        if step == actual && Naive::is_held(address) {
            return format!(
                "refused address_taken {ip} of {space} step {step} seq {allocated_seq}"
            );
        }
        if step.is_multiple_of(2) && actual == step + 1 && was_reserved {
            return format!("had ended {ip} of {space} step {actual} seq {seq}");
        }
        format!("refused step_mismatch {step} {actual}")
    }

    pub(super) fn bind(&mut self, uid: u8) -> String {
        match self.bound {
            Some(bound) if bound != uid => return "refused cluster_mismatch".to_owned(),
            Some(_) => {}
            None => {
                let name = self.name_of(DEFAULT, None);
                let index = self.open(&name);
                self.spaces[index].seq += 1;
                self.bound = Some(uid);
            }
        }
        format!("bound {}", self.world.uid(uid))
    }
}
