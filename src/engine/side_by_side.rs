//! Looks at the machine that go on side by side, as many as it can take at a time.

use tokio::task::JoinSet;

/// Does all of it, many at a time, and hands over what came of each as soon as it is known. Being
/// abandoned ends what runs.
pub(super) async fn side_by_side<T: Send + 'static>(
    works: impl IntoIterator<Item: Future<Output = T> + Send + 'static>,
    mut done: impl FnMut(T),
) {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    // A probe mostly waits, for the disk or for an interpreter to come up.
    let most = cores.saturating_mul(4).min(32);
    let mut works = works.into_iter();
    let mut running = JoinSet::new();
    loop {
        for work in works.by_ref().take(most - running.len()) {
            running.spawn(work);
        }
        match running.join_next().await {
            Some(Ok(came)) => done(came),
            // Of what broke off there is nothing to hand over.
            Some(Err(_)) => {}
            None => return,
        }
    }
}
