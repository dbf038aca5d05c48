//! What an ADD comes to.

use super::*;

impl Naive {
    pub(super) fn add(&mut self, add: &Add) -> String {
        self.try_add(add).unwrap_or_else(|told| told)
    }

    pub(super) fn try_add(&mut self, add: &Add) -> Result<String, String> {
        let fixed = assign_fixed(add)?;
        if let (Some(given), Some(bound)) = (add.uid, self.bound)
            && given != bound
        {
            return Err("refused cluster_mismatch".to_owned());
        }
        self.see(add.token.filter(|_| !add.dry_run));
        if let Some(held) = self.repeat(add)? {
            let receipts: String = held.iter().map(|address| receipt(address)).collect();
            let held: Vec<(String, &str)> = held.iter().map(|a| (a.space.clone(), a.ip)).collect();
            self.repeat_counts(add, &held);
            return Err(format!("has{receipts}"));
        }
        self.overtaken(add)?;
        let mut names = Vec::new();
        for &range in &add.ranges {
            names.push(self.resolve(add.selector, RANGES[range].cidr)?);
        }
        let chosen = self.choose(add, &names, &fixed)?;
        if add.dry_run {
            let told = chosen
                .iter()
                .zip(&names)
                .map(|(ip, name)| format!(" {ip} of {name}"));
            return Ok(format!("would give{}", told.collect::<String>()));
        }
        // Spaces are opened before anything is appended to them.
        let default = self.name_of(DEFAULT, None);
        let first_contact = add.uid.is_some() && self.bound.is_none();
        for name in names.iter().chain(first_contact.then_some(&default)) {
            self.open(name);
        }
        if self.tombstones.learn(add.interface, self.now) {
            return self.try_add(add);
        }
        Ok(self.give(add, &names, &chosen))
    }

    /// The holds that the request repeats, in the order of its ranges.
    pub(super) fn repeat(&self, add: &Add) -> Result<Option<Vec<&Address>>, String> {
        let held = self.held_by_interface(add.interface);
        let Some(first) = held.first() else {
            return Ok(None);
        };
        let conflict = || Err(format!("refused attachment_conflict {}", first.ip));
        let ifname = match first.holder {
            Holder::Own(_) => {
                let same = |address: &&Address| {
                    let request = address.request.as_ref();
                    request.is_some_and(|request| is_same_request(request, add))
                };
                let is_same = held.len() == add.ranges.len() && held.iter().all(same);
                return if is_same { Ok(Some(held)) } else { conflict() };
            }
            Holder::Imported { ifname, .. } => ifname,
            Holder::Nobody(_) => unreachable!("no interface is asked for by it"),
        };
        let fixed = assign_fixed(add)?;
        let mut in_order: Vec<&Address> = Vec::new();
        for (&range, fixed) in add.ranges.iter().zip(fixed) {
            let range = &RANGES[range];
            let space = self.resolve(add.selector, range.cidr).unwrap_or_default();
            let fits = |a: &&&Address| {
                a.space == space
                    && range.hands_out.contains(&a.ip)
                    && fixed.is_none_or(|ip| ip == a.ip)
                    && !in_order.iter().any(|b| b.ip == a.ip && b.space == a.space)
            };
            let fitting: Vec<&&Address> = held.iter().filter(fits).collect();
            match fitting.as_slice() {
                [only] => in_order.push(only),
                [first, ..] if ifname.is_some() => in_order.push(first),
                _ => {}
            }
        }
        let all = in_order.len() == add.ranges.len();
        match ifname {
            Some(_) if all && in_order.len() == held.len() => Ok(Some(in_order)),
            Some(_) => conflict(),
            None if all => Ok(Some(in_order)),
            // One hold that fits one of several ranges is this interface's.
            None if held.len() == 1 && !in_order.is_empty() => conflict(),
            None => Ok(None),
        }
    }

    /// A repeat that came later than the last call for a hold is the last one from now on.
    pub(super) fn repeat_counts(&mut self, add: &Add, held: &[(String, &str)]) {
        let Some(token) = add.token.filter(|_| !add.dry_run) else {
            return;
        };
        let mut overtaken = Vec::new();
        for (space, ip) in held {
            let address = self.address(space, ip).expect("it is held");
            let last = address.token.map(|last| self.rank(last));
            if last.is_none_or(|last| last < self.rank(token)) {
                overtaken.push((space.clone(), *ip));
            }
        }
        for address in &mut self.addresses {
            if overtaken.contains(&(address.space.clone(), address.ip)) {
                address.token = Some(token);
            }
        }
    }

    pub(super) fn overtaken(&self, add: &Add) -> Result<(), String> {
        let own = Caller::Holder(Holder::Own(add.interface));
        if let Some(token) = add.token {
            let held = self.of_pod(add.interface);
            let pod = Naive::pod(add.interface).and_then(|pod| self.last_call(pod));
            let last = held
                .iter()
                .filter_map(|address| address.token)
                .chain(pod)
                .chain(self.last_call(own))
                .map(|token| self.rank(token))
                .max();
            if last.is_some_and(|last| self.rank(token) < last) {
                return Err("refused stale".to_owned());
            }
        }
        let Some(deleted) = self.tombstones.known(add.interface, self.now) else {
            return Ok(());
        };
        match (add.token, deleted) {
            (Some(added), Some(deleted)) if self.is_later(added, deleted) => Ok(()),
            _ => Err("refused deleted".to_owned()),
        }
    }

    pub(super) fn choose(
        &self,
        add: &Add,
        names: &[String],
        fixed: &[Option<&'static str>],
    ) -> Result<Vec<&'static str>, String> {
        let mut chosen: Vec<Option<&'static str>> = vec![None; add.ranges.len()];
        let mut refused: Vec<String> = Vec::new();
        let older = self.of_pod(add.interface);
        let own = |space: &str, ip: &str| older.iter().any(|a| a.ip == ip && a.space == space);
        let mut kept: Vec<&Address> = match Naive::name(add.interface) {
            Some(name) => {
                let of_name = |a: &&Address| self.kept_for(a) == Some(name);
                self.addresses.iter().filter(of_name).collect()
            }
            None => Vec::new(),
        };
        kept.sort_by_key(|a| (a.position, number(a.ip)));
        let may_have = |space: &str, ip: &str| {
            own(space, ip) || kept.iter().any(|a| a.ip == ip && a.space == space)
        };
        for (position, ip) in fixed.iter().enumerate() {
            let Some(ip) = ip else { continue };
            let space = &names[position];
            refused.extend(self.check_fixed(space, ip, may_have(space, ip)).err());
            chosen[position] = Some(ip);
        }
        for (position, &range) in add.ranges.iter().enumerate() {
            if fixed[position].is_some() {
                continue;
            }
            let (space, range) = (&names[position], &RANGES[range]);
            let used = |ip: &str| {
                let mut others = chosen.iter().zip(names);
                others.any(|(chosen, name)| *chosen == Some(ip) && name == space)
            };
            let first = |some: &mut dyn Iterator<Item = &&Address>| {
                let fits = |a: &&&Address| {
                    a.space == *space && range.hands_out.contains(&a.ip) && !used(a.ip)
                };
                let mut fitting: Vec<&&Address> = some.filter(fits).collect();
                fitting.sort_by_key(|a| (a.position != position, a.position, number(a.ip)));
                fitting.first().map(|a| a.ip)
            };
            let own_rests = |ip: &str| {
                own(space, ip) && self.address(space, ip).is_some_and(|a| self.is_cooling(a))
            };
            chosen[position] = first(&mut older.iter().filter(|a| Naive::is_held(a)))
                .or_else(|| first(&mut kept.iter()))
                .or_else(|| self.free_one(add, space, range.hands_out, &used, &own_rests));
            if chosen[position].is_none() {
                refused.push(self.full(space, range.hands_out));
            }
        }
        // The first kind that applies, whichever range it is about.
        for kind in [
            "address_taken",
            "address_reserved",
            "address_kept",
            "address_cooling",
            "exhausted",
            "kept",
            "cooling",
        ] {
            let of_kind = format!("refused {kind} ");
            if let Some(told) = refused.iter().find(|told| told.starts_with(&of_kind)) {
                return Err(told.clone());
            }
        }
        Ok(chosen.into_iter().flatten().collect())
    }

    /// One that nobody has, in the order that the request wants.
    pub(super) fn free_one(
        &self,
        add: &Add,
        space: &str,
        hands_out: &[&'static str],
        used: &dyn Fn(&str) -> bool,
        own_rests: &dyn Fn(&str) -> bool,
    ) -> Option<&'static str> {
        let is_free = |ip: &str| match self.address(space, ip) {
            None => true,
            Some(address) => !address.step.is_multiple_of(2) && !self.is_cooling(address),
        };
        let mut left = hands_out.iter().copied().filter(|ip| !used(ip));
        if !add.longest_idle {
            return left.find(|ip| is_free(ip) || own_rests(ip));
        }
        let left: Vec<&'static str> = left.collect();
        let freed = |ip: &&'static str| self.address(space, ip).map_or(0, |address| address.seq);
        let idle = left
            .iter()
            .copied()
            .filter(|ip| is_free(ip))
            .min_by_key(freed);
        idle.or_else(|| left.into_iter().find(|ip| own_rests(ip)))
    }

    pub(super) fn check_fixed(&self, space: &str, ip: &str, own: bool) -> Result<(), String> {
        match self.address(space, ip) {
            Some(address) if Naive::is_held(address) && !own => {
                let (seq, step) = (address.allocated_seq, address.step);
                Err(format!(
                    "refused address_taken {ip} of {space} step {step} seq {seq}"
                ))
            }
            Some(address) if Naive::is_reserved(address) => {
                let (seq, step) = (address.allocated_seq, address.step);
                Err(format!(
                    "refused address_reserved {ip} of {space} step {step} seq {seq}"
                ))
            }
            Some(address) if self.is_cooling(address) && !own => {
                let kind = match self.kept_for(address) {
                    Some(_) => "address_kept",
                    None => "address_cooling",
                };
                let until = Naive::until(address);
                Err(format!("refused {kind} {ip} until {until}"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn full(&self, space: &str, hands_out: &[&str]) -> String {
        let taken = of_taken(&self.counts(space, &|ip| hands_out.contains(&ip)));
        match self.next_to_wake(space, hands_out) {
            Some(next) => {
                let until = Naive::until(next);
                let kind = self.kept_for(next).map_or("cooling", |_| "kept");
                format!("refused {kind} {taken} until {until}")
            }
            None => format!("refused exhausted {taken}"),
        }
    }

    /// Everything is possible: end what the older sandbox holds, and give.
    pub(super) fn give(&mut self, add: &Add, names: &[String], chosen: &[&'static str]) -> String {
        self.bind_now(add);
        let older: Vec<(String, &'static str)> = self
            .of_pod(add.interface)
            .into_iter()
            .filter(|address| Naive::is_held(address))
            .map(|address| (address.space.clone(), address.ip))
            .collect();
        let caller = Caller::Holder(Holder::Own(add.interface));
        for (space, ip) in older {
            self.end(&space, ip, add.token, Some(caller));
        }
        let mut told = "given".to_owned();
        for (position, (&ip, name)) in chosen.iter().zip(names).enumerate() {
            let space = self.open(name);
            let choice = Choice { ip, space };
            let pool = RANGES[add.ranges[position]].cidr;
            let holder = Holder::Own(add.interface);
            let address = self.hold(&choice, pool, holder, position);
            address.sticky = Naive::name(add.interface).map_or(0, |_| add.sticky);
            address.rest = add.cooldown.max(address.sticky);
            address.token = add.token;
            address.request = Some(add.clone());
            told.push_str(&receipt(address));
        }
        told
    }

    pub(super) fn bind_now(&mut self, add: &Add) {
        if self.bound.is_none()
            && let Some(uid) = add.uid
        {
            self.bind(uid);
        }
    }

    pub(super) fn hold(
        &mut self,
        choice: &Choice,
        pool: &'static str,
        holder: Holder,
        position: usize,
    ) -> &mut Address {
        let space = &mut self.spaces[choice.space];
        space.seq += 1;
        if !space.pools.contains(&pool) {
            space.pools.push(pool);
        }
        let (name, seq) = (space.name.clone(), space.seq);
        let before = self.address(&name, choice.ip).map(|address| address.step);
        self.addresses
            .retain(|a| a.space != name || a.ip != choice.ip);
        self.addresses.push(Address {
            space: name,
            ip: choice.ip,
            step: before.map_or(0, |step| step + 1),
            seq,
            allocated_seq: seq,
            at: self.now,
            holder,
            position,
            pool,
            rest: 0,
            sticky: 0,
            token: None,
            request: None,
        });
        self.addresses.last_mut().expect("it was just pushed")
    }
}
