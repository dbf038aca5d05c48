//! Numbers that look random and depend on the seed alone.

pub(crate) struct Dice(fastrand::Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(fastrand::Rng::with_seed(seed))
    }

    /// From 0 to `bound - 1`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }

    /// Both ends are included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.i64(low..=high)
    }

    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.0.u32(..100) < share
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }

    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        self.0.shuffle(all);
    }
}
