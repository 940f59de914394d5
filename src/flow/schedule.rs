//! Who goes on next where several tasks are executed at once: the longest way first, never more
//! than there are turns, never two with one lock, alone where the terminal is wanted. Pure: it
//! knows no clock and waits for nothing. Whoever executes says what happened, and asks.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

/// A task, as far as it matters when it goes on.
#[derive(Clone, Debug, Default)]
pub struct Item {
    /// Those it comes behind, by their place.
    pub behind: Vec<usize>,
    /// How long it may take.
    pub weight: Duration,
    /// Whether it wants to talk with a person on the terminal: then it comes early.
    pub talks: bool,
    /// Tasks of one group can be served by one call.
    pub group: Option<usize>,
    /// Whether there is nothing left to do for it.
    pub is_over: bool,
}

/// What a task wants besides a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    pub locks: Vec<String>,
    /// Nothing else may go on meanwhile.
    pub alone: bool,
}

/// Early ones first: those on the way to the terminal, then by the longest way to the end, then as
/// planned.
type Rank = (Reverse<bool>, Reverse<Duration>, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// For so many others.
    Waits(usize),
    /// It can begin.
    Ready,
    /// It goes on, and has all this.
    Turn(Demand),
    /// It has begun, and needs no turn for what it waits for.
    Away,
    /// It has begun, and wants to go on.
    Asks(Demand),
    Over,
}

/// How far a task is on its way to the call that it shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Coming,
    Waiting,
    /// It is served, or goes its own way.
    Left,
}

#[derive(Clone, Debug)]
struct Slot {
    state: State,
    way: Way,
    group: Option<usize>,
    rank: Rank,
    needed_by: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Schedule {
    turns: usize,
    taken: usize,
    slots: Vec<Slot>,
    held: HashSet<String>,
    /// Whether the only one who has a turn wants to be that.
    is_alone: bool,
    ready: BTreeSet<Rank>,
    asking: BTreeSet<Rank>,
    groups: HashMap<usize, Vec<usize>>,
    /// Who is about to make the next call of a group.
    leaders: HashMap<usize, usize>,
}

impl Schedule {
    /// With one turn, all go on as planned, each from its beginning to its end.
    pub fn new(turns: usize, items: &[Item]) -> Self {
        let turns = turns.max(1);
        let mut needed_by = vec![Vec::new(); items.len()];
        for (place, item) in items.iter().enumerate().filter(|(_, item)| !item.is_over) {
            for before in &item.behind {
                needed_by[*before].push(place);
            }
        }
        let ranks = ranks(turns, items, &needed_by);
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut slots = Vec::with_capacity(items.len());
        for ((place, item), (rank, needed_by)) in
            items.iter().enumerate().zip(ranks.into_iter().zip(needed_by))
        {
            let open = item.behind.iter().filter(|before| !items[**before].is_over).count();
            let state = match open {
                _ if item.is_over => State::Over,
                0 => State::Ready,
                open => State::Waits(open),
            };
            // One after the other, nothing can be shared.
            let group = item.group.filter(|_| turns > 1 && !item.is_over);
            if let Some(group) = group {
                groups.entry(group).or_default().push(place);
            }
            slots.push(Slot { state, way: Way::Coming, group, rank, needed_by });
        }
        let ready = slots.iter().filter(|slot| slot.state == State::Ready).map(|slot| slot.rank);
        Self {
            turns,
            taken: 0,
            ready: ready.collect(),
            asking: BTreeSet::new(),
            slots,
            held: HashSet::new(),
            is_alone: false,
            groups,
            leaders: HashMap::new(),
        }
    }

    /// Who gets a turn now. With `only_begun`, nobody who has not begun.
    pub fn next(&mut self, only_begun: bool) -> Option<usize> {
        if self.taken >= self.turns || self.is_alone {
            return None;
        }
        if let Some(rank) = self.first_who_wants_to_be_alone() {
            // Nobody else begins until it had its turn.
            return (self.taken == 0).then(|| self.give_turn(rank));
        }
        let asking = self.asking.iter().find(|rank| self.is_free(self.demand(rank.2))).copied();
        let ready = self.ready.first().copied().filter(|_| !only_begun);
        let rank = asking.into_iter().chain(ready).min()?;
        Some(self.give_turn(rank))
    }

    pub fn has_turn(&self, place: usize) -> bool {
        matches!(self.state(place), State::Turn(_))
    }

    /// Whether nothing more is to be done for it.
    pub fn has_ended(&self, place: usize) -> bool {
        *self.state(place) == State::Over
    }

    fn first_who_wants_to_be_alone(&self) -> Option<Rank> {
        self.asking.iter().find(|rank| self.demand(rank.2).alone).copied()
    }

    fn state(&self, place: usize) -> &State {
        self.slots.get(place).map_or(&State::Over, |slot| &slot.state)
    }

    fn demand(&self, place: usize) -> &Demand {
        const NOTHING: &Demand = &Demand { locks: Vec::new(), alone: false };
        match self.state(place) {
            State::Asks(demand) | State::Turn(demand) => demand,
            _ => NOTHING,
        }
    }

    fn is_free(&self, demand: &Demand) -> bool {
        !demand.locks.iter().any(|lock| self.held.contains(lock))
    }

    fn give_turn(&mut self, rank: Rank) -> usize {
        let place = rank.2;
        self.ready.remove(&rank);
        self.asking.remove(&rank);
        let demand = match std::mem::replace(&mut self.slots[place].state, State::Away) {
            State::Asks(demand) => demand,
            _ => Demand::default(),
        };
        self.take(place, demand);
        self.taken += 1;
        place
    }

    fn take(&mut self, place: usize, demand: Demand) {
        self.held.extend(demand.locks.iter().cloned());
        self.is_alone = demand.alone;
        self.slots[place].state = State::Turn(demand);
    }

    /// It wants to go on with this. It may have its turn at once; otherwise it has none until its
    /// turn comes.
    pub fn ask(&mut self, place: usize, demand: Demand) {
        let Some(slot) = self.slots.get(place) else { return };
        if slot.state == State::Over {
            return;
        }
        if matches!(slot.state, State::Turn(_)) {
            self.release(place);
            let rank = self.slots[place].rank;
            let earlier = self.asking.range(..rank).map(|rank| self.demand(rank.2));
            let mut earlier = earlier.filter(|other| self.is_free(other));
            let is_wanted = earlier.any(|o| o.locks.iter().any(|lock| demand.locks.contains(lock)));
            let others = self.first_who_wants_to_be_alone().is_some() || demand.alone;
            if self.turns == 1 || !is_wanted && !others && self.is_free(&demand) {
                return self.take(place, demand);
            }
            self.taken -= 1;
        }
        self.slots[place].state = State::Asks(demand);
        self.asking.insert(self.slots[place].rank);
    }

    /// It does not want to go on now after all.
    pub fn withdraw(&mut self, place: usize) {
        if matches!(self.state(place), State::Asks(_)) {
            self.asking.remove(&self.slots[place].rank);
            self.slots[place].state = State::Away;
        }
    }

    /// It waits for something else than a turn, and leaves its turn to others meanwhile. Where there
    /// is only one, it is kept. Says whether it had one.
    pub fn rest(&mut self, place: usize) -> bool {
        let had_turn = self.has_turn(place);
        if had_turn && self.turns > 1 {
            self.release(place);
            self.taken -= 1;
            self.slots[place].state = State::Away;
        }
        had_turn
    }

    /// It gives back its locks, and goes on.
    pub fn release(&mut self, place: usize) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        if let State::Turn(demand) = &mut slot.state {
            self.is_alone &= !demand.alone;
            for lock in std::mem::take(demand).locks {
                self.held.remove(&lock);
            }
        }
    }

    /// Nothing more is to be done for it: those behind it need not wait any longer.
    pub fn is_over(&mut self, place: usize) {
        if *self.state(place) == State::Over {
            return;
        }
        self.release(place);
        let slot = &mut self.slots[place];
        slot.way = Way::Left;
        let (rank, group, needed_by) = (slot.rank, slot.group, std::mem::take(&mut slot.needed_by));
        if matches!(std::mem::replace(&mut slot.state, State::Over), State::Turn(_)) {
            self.taken -= 1;
        }
        self.asking.remove(&rank);
        self.ready.remove(&rank);
        if let Some(group) = group.filter(|group| self.leaders.get(group) == Some(&place)) {
            self.leaders.remove(&group);
        }
        for next in needed_by {
            if let State::Waits(open) = &mut self.slots[next].state {
                *open -= 1;
                if *open == 0 {
                    self.slots[next].state = State::Ready;
                    self.hurry(next);
                    self.ready.insert(self.slots[next].rank);
                }
            }
        }
    }

    // Calls that serve several tasks.

    /// Whether it can share a call.
    pub fn has_group(&self, place: usize) -> bool {
        self.slots.get(place).is_some_and(|slot| slot.group.is_some())
    }

    /// It knows that it needs the call of its group, and waits for it without a turn.
    pub fn arrive(&mut self, place: usize) {
        self.rest(place);
        self.withdraw(place);
        let Some(slot) = self.slots.get_mut(place) else { return };
        slot.way = Way::Waiting;
        let others = slot.group.and_then(|group| self.groups.get(&group)).cloned();
        // Who could come along is looked for before others: the call waits for them.
        for other in others.unwrap_or_default() {
            if self.slots[other].state == State::Ready {
                self.ready.remove(&self.slots[other].rank);
                self.hurry(other);
                self.ready.insert(self.slots[other].rank);
            }
        }
    }

    /// Whether it waits for the call of its group, and nobody has made it yet.
    pub fn is_waiting(&self, place: usize) -> bool {
        self.slots.get(place).is_some_and(|slot| slot.way == Way::Waiting)
    }

    /// It goes its own way.
    pub fn part(&mut self, place: usize) {
        if let Some(slot) = self.slots.get_mut(place) {
            slot.way = Way::Left;
        }
    }

    /// It was served in vain, and may come again.
    pub fn come_again(&mut self, place: usize) {
        if let Some(slot) = self.slots.get_mut(place) {
            slot.way = Way::Coming;
        }
    }

    /// Whether it is the one to make the next call of its group: everyone who could come along is
    /// there. With `only_begun`, nobody else begins. Who was told so leads until the call is made or
    /// given up.
    pub fn takes_the_lead(&mut self, place: usize, only_begun: bool) -> bool {
        let Some(group) = self.slots.get(place).and_then(|slot| slot.group) else { return false };
        let mates = self.groups.get(&group).map(Vec::as_slice).unwrap_or_default();
        let is_coming = |mate: &usize| {
            let slot = &self.slots[*mate];
            slot.way == Way::Coming
                && match slot.state {
                    State::Ready => !only_begun,
                    State::Turn(_) | State::Asks(_) => true,
                    State::Waits(_) | State::Away | State::Over => false,
                }
        };
        if self.leaders.contains_key(&group) || mates.iter().any(is_coming) {
            return false;
        }
        let waiting = mates.iter().filter(|mate| self.slots[**mate].way == Way::Waiting);
        let is_first = waiting.min_by_key(|mate| self.slots[**mate].rank) == Some(&place);
        if is_first {
            self.leaders.insert(group, place);
        }
        is_first
    }

    /// The lead is given up, and so is the wait.
    pub fn give_up_lead(&mut self, place: usize) {
        self.withdraw(place);
        self.part(place);
        if let Some(group) = self.slots.get(place).and_then(|slot| slot.group) {
            self.leaders.remove(&group);
        }
    }

    /// All that wait for the call that this one is about to make, in plan order: they are served by it.
    pub fn call(&mut self, place: usize) -> Vec<usize> {
        let Some(group) = self.slots.get(place).and_then(|slot| slot.group) else {
            return vec![place];
        };
        self.leaders.remove(&group);
        let mates = self.groups.get(&group).cloned().unwrap_or_default();
        let served: Vec<_> =
            mates.into_iter().filter(|mate| self.slots[*mate].way == Way::Waiting).collect();
        for mate in &served {
            self.slots[*mate].way = Way::Left;
        }
        served
    }

    /// Who could come along with those that wait already is as urgent as the most urgent of them.
    fn hurry(&mut self, place: usize) {
        let mates = self.slots[place].group.and_then(|group| self.groups.get(&group));
        let waiting = mates.into_iter().flatten().map(|mate| &self.slots[*mate]);
        let waiting = waiting.filter(|slot| slot.way == Way::Waiting).map(|slot| slot.rank);
        if let Some((talks, way, _)) = waiting.min() {
            let rank = &mut self.slots[place].rank;
            *rank = (*rank).min((talks, way, place));
        }
    }
}

fn ranks(turns: usize, items: &[Item], needed_by: &[Vec<usize>]) -> Vec<Rank> {
    if turns == 1 {
        let as_planned = |place| (Reverse(false), Reverse(Duration::ZERO), place);
        return (0..items.len()).map(as_planned).collect();
    }
    // Whoever comes behind another stands behind it in the plan, too.
    let mut ranks: Vec<Rank> = vec![(Reverse(false), Reverse(Duration::ZERO), 0); items.len()];
    for place in (0..items.len()).rev() {
        let next = needed_by[place].iter().map(|next| ranks[*next]);
        let (talks, way) = next.fold((items[place].talks, Duration::ZERO), |(talks, way), next| {
            (talks || next.0.0, way.max(next.1.0))
        });
        ranks[place] = (Reverse(talks), Reverse(way.saturating_add(items[place].weight)), place);
    }
    ranks
}
