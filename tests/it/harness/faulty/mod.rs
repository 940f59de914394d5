//! A file system in memory, with one fault at one chosen operation.
//!
//! It keeps two states: the one a process sees, and the one a power cut would leave. Content becomes
//! durable when the file is synced, names when their directory is, and nothing sooner: the most
//! forgetful disk that still honours fsync. As on Linux, a sync that failed drops the pages it could
//! not write; later syncs of the same descriptor succeed without writing them.

mod content;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agentic_provision::disk::{Access, Backend, Entry, EntryKind, Fs, Handle, Open, Stat};
use rustix::io::Errno;

use content::{Body, Content, Node, Share};

/// What goes wrong, when, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The operation it strikes, counted from 0.
    pub at: u64,
    pub kind: FaultKind,
    pub lasting: Lasting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The call fails and does nothing.
    Fails(Errno),
    /// The first write from there on takes only half of its bytes.
    ShortWrite,
    /// The process dies in the call, a write half done; what it wrote is still there.
    Crash,
    /// The machine loses power in the call, a sync half done; only what was synced is still there.
    PowerCut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    Once,
    ForEver,
}

#[derive(Clone, Debug, Default)]
pub struct FaultyFs {
    world: Arc<Mutex<World>>,
}

#[derive(Debug)]
struct FaultyFile {
    world: Arc<Mutex<World>>,
    node: Node,
    /// Alive as long as the handle is: what a lock refers to.
    life: Arc<()>,
    /// A sync of this handle has failed: it is never to be trusted again.
    spoiled: AtomicBool,
}

#[derive(Debug, Default)]
struct World {
    nodes: Vec<Content>,
    fault: Option<Fault>,
    operations: u64,
    down: bool,
}

impl FaultyFs {
    /// An empty world with no fault in it.
    pub fn new() -> Self {
        let fs = Self::default();
        fs.lock().nodes.push(Content::directory());
        fs
    }

    /// Arms a fault; operations are counted from now.
    pub fn arm(&self, fault: Fault) {
        let mut world = self.lock();
        world.operations = 0;
        world.fault = Some(fault);
    }

    /// How many operations there were since the world began or a fault was armed.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Whether the process or the machine is down.
    pub fn is_down(&self) -> bool {
        self.lock().down
    }

    /// The process is started again and nothing is wrong any more.
    pub fn restart(&self) {
        let mut world = self.lock();
        world.fault = None;
        world.down = false;
    }

    /// The machine loses power and is started again: what was not synced is gone.
    pub fn lose_power(&self) {
        self.restart();
        self.lock().nodes.iter_mut().for_each(Content::forget_unsynced);
    }

    /// The file system as the program uses it.
    pub fn fs(&self) -> Fs {
        Fs::new(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, node: Node) -> Box<dyn Handle> {
        let (world, life) = (Arc::clone(&self.world), Arc::new(()));
        Box::new(FaultyFile { world, node, life, spoiled: AtomicBool::new(false) })
    }
}

impl Backend for FaultyFs {
    fn create_dir(&self, path: &Path, _: Access) -> io::Result<()> {
        let mut world = self.lock();
        world.operation()?;
        world.create(path, Content::directory()).map(drop)
    }

    fn create_file(&self, path: &Path, _: Access) -> io::Result<Box<dyn Handle>> {
        let mut world = self.lock();
        world.operation()?;
        world.create(path, Content::file()).map(|node| self.handle(node))
    }

    fn open(&self, path: &Path, open: Open) -> io::Result<Box<dyn Handle>> {
        let mut world = self.lock();
        world.operation()?;
        let node = world.find(path)?;
        match (&world.nodes[node.0].body, open) {
            (Body::File { .. }, Open::Directory) => Err(Errno::NOTDIR.into()),
            (Body::Directory { .. }, Open::Read | Open::ReadWrite) => Err(Errno::ISDIR.into()),
            _ => Ok(self.handle(node)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.lock();
        world.operation()?;
        let node = world.find(from)?;
        let (from_dir, from_name) = world.parent(from)?;
        let (to_dir, to_name) = world.parent(to)?;
        let replaced = world.names(to_dir)?.get(&to_name).copied();
        if replaced != Some(node) {
            world.names_mut(from_dir)?.remove(&from_name);
            world.names_mut(to_dir)?.insert(to_name, node);
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.lock();
        world.operation()?;
        let node = world.find(from)?;
        world.insert(to, node)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut world = self.lock();
        world.operation()?;
        world.find(path)?;
        let (directory, name) = world.parent(path)?;
        world.names_mut(directory)?.remove(&name);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut world = self.lock();
        world.operation()?;
        let node = world.find(path)?;
        world.nodes[node.0].sync(Share::All);
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let mut world = self.lock();
        world.operation()?;
        let node = world.find(path)?;
        let names = world.names(node)?;
        let entry = |(name, node): (&OsString, &Node)| Entry {
            name: name.clone(),
            kind: world.nodes[node.0].kind(),
        };
        Ok(names.iter().map(entry).collect())
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let mut world = self.lock();
        world.operation()?;
        let node = world.find(path)?;
        Ok(world.stat(node))
    }
    /// Fails: there are no symbolic links here.
    fn read_link(&self, _: &Path) -> io::Result<PathBuf> {
        self.lock().operation()?;
        Err(io::ErrorKind::InvalidInput.into())
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.lock().operation()?;
        Ok(path.into())
    }
}

impl FaultyFile {
    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handle for FaultyFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut world = self.lock();
        let was_up = !world.down;
        let outcome = world.operation();
        let dies = was_up && world.down;
        if !dies {
            outcome?;
        }
        let half = world.cuts_writes_short() || dies;
        let taken = if half { bytes.len() / 2 } else { bytes.len() };
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        world.nodes[self.node.0].write(start, &bytes[..taken])?;
        if dies { Err(down()) } else { Ok(taken) }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut world = self.lock();
        world.operation()?;
        let content = world.bytes_mut(self.node)?;
        let start = usize::try_from(offset).map_err(io::Error::other)?.min(content.len());
        let read = buffer.len().min(content.len() - start);
        buffer[..read].copy_from_slice(&content[start..start + read]);
        Ok(read)
    }

    fn stat(&self) -> io::Result<Stat> {
        let mut world = self.lock();
        world.operation()?;
        Ok(world.stat(self.node))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut world = self.lock();
        world.operation()?;
        let len = usize::try_from(len).map_err(io::Error::other)?;
        world.bytes_mut(self.node)?.resize(len, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.lock();
        let was_up = !world.down;
        let outcome = world.operation();
        let dies = was_up && world.down;
        let content = &mut world.nodes[self.node.0];
        match &outcome {
            Ok(()) if self.spoiled.load(Ordering::Relaxed) => {}
            Ok(()) => content.sync(Share::All),
            Err(_) if dies => content.sync(Share::Half),
            // An interrupted sync may be tried again; after any other failure the system has
            // given up on what it could not write.
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                content.give_up();
                self.spoiled.store(true, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        outcome
    }

    fn reserve(&self, _: u64, _: u64) -> io::Result<()> {
        self.lock().operation()
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut world = self.lock();
        world.operation()?;
        let lock = &mut world.nodes[self.node.0].lock;
        let free = lock.upgrade().is_none_or(|holder| Arc::ptr_eq(&holder, &self.life));
        if free {
            *lock = Arc::downgrade(&self.life);
        }
        Ok(free)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let mut world = self.lock();
        world.operation()?;
        Ok(world.find(path).is_ok_and(|node| node == self.node))
    }

    /// All files have one owner.
    fn set_owner(&self, _: u32, _: u32) -> io::Result<()> {
        self.lock().operation()
    }

    /// All files have one mode.
    fn set_mode(&self, _: u32) -> io::Result<()> {
        self.lock().operation()
    }

    fn is_locked(&self) -> io::Result<bool> {
        let mut world = self.lock();
        world.operation()?;
        Ok(world.nodes[self.node.0].lock.upgrade().is_some())
    }

    /// Fails: nothing here has a descriptor.
    fn for_children(&self, _: i32) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl World {
    /// Counts an operation, and fails it if its time has come.
    fn operation(&mut self) -> io::Result<()> {
        if self.down {
            return Err(down());
        }
        let number = self.operations;
        self.operations += 1;
        let Some(fault) = self.fault else { return Ok(()) };
        let strikes = match fault.lasting {
            Lasting::Once => number == fault.at,
            Lasting::ForEver => number >= fault.at,
        };
        match fault.kind {
            FaultKind::Fails(errno) if strikes => Err(errno.into()),
            FaultKind::Crash | FaultKind::PowerCut if strikes => {
                self.down = true;
                Err(down())
            }
            _ => Ok(()),
        }
    }

    fn cuts_writes_short(&mut self) -> bool {
        let Some(fault) = self.fault else { return false };
        let strikes = fault.kind == FaultKind::ShortWrite && self.operations > fault.at;
        if strikes && fault.lasting == Lasting::Once {
            self.fault = None;
        }
        strikes
    }

    fn find(&self, path: &Path) -> io::Result<Node> {
        let mut node = Node(0);
        for part in path.components() {
            if let std::path::Component::Normal(name) = part {
                let known = self.names(node)?.get(name).copied();
                node = known.ok_or_else(|| io::Error::from(Errno::NOENT))?;
            }
        }
        Ok(node)
    }

    fn parent(&self, path: &Path) -> io::Result<(Node, OsString)> {
        let parent = path.parent().map(PathBuf::from).unwrap_or_default();
        let name = path.file_name().ok_or_else(|| io::Error::from(Errno::INVAL))?;
        Ok((self.find(&parent)?, name.into()))
    }

    fn create(&mut self, path: &Path, content: Content) -> io::Result<Node> {
        let node = Node(self.nodes.len());
        self.insert(path, node)?;
        self.nodes.push(content);
        Ok(node)
    }

    fn insert(&mut self, path: &Path, node: Node) -> io::Result<()> {
        let (directory, name) = self.parent(path)?;
        let names = self.names_mut(directory)?;
        if names.contains_key(&name) {
            return Err(Errno::EXIST.into());
        }
        names.insert(name, node);
        Ok(())
    }

    fn names(&self, node: Node) -> io::Result<&BTreeMap<OsString, Node>> {
        match &self.nodes[node.0].body {
            Body::Directory { seen, .. } => Ok(seen),
            Body::File { .. } => Err(Errno::NOTDIR.into()),
        }
    }

    fn names_mut(&mut self, node: Node) -> io::Result<&mut BTreeMap<OsString, Node>> {
        match &mut self.nodes[node.0].body {
            Body::Directory { seen, .. } => Ok(seen),
            Body::File { .. } => Err(Errno::NOTDIR.into()),
        }
    }

    fn bytes_mut(&mut self, node: Node) -> io::Result<&mut Vec<u8>> {
        match &mut self.nodes[node.0].body {
            Body::File { seen, .. } => Ok(seen),
            Body::Directory { .. } => Err(Errno::ISDIR.into()),
        }
    }

    fn stat(&self, node: Node) -> Stat {
        let content = &self.nodes[node.0];
        let len = match &content.body {
            Body::File { seen, .. } => seen.len() as u64,
            Body::Directory { .. } => 0,
        };
        let mode = if content.kind() == EntryKind::Directory { 0o700 } else { 0o600 };
        let owner = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        Stat { kind: content.kind(), len, mode, owner, group, modified_millis: 0 }
    }
}

fn down() -> io::Error {
    io::Error::other("the machine is down")
}
