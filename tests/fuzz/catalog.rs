//! Catalogs of anyone's making: whatever is in the files, mistakes have places and can be shown.
#![no_main]

use agentic_provision::{
    catalog::{Catalog, LayerSource, MOST_NODES, Manifest, Node, Rules, Source},
    disk::Fs,
    face,
    flow::{Situation, recipe},
    model::{PackageManager, Platform},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // Several files in one input, so that they can speak of each other.
    let files = text.split("\n=====\n").enumerate();
    let texts: Vec<_> = files.map(|(n, text)| (format!("{n}.yaml"), text.to_owned())).collect();
    for (_, text) in &texts {
        if let Ok(node) = Node::parse(text) {
            assert!(node.count() <= MOST_NODES);
        }
        let source = Source { name: "x".into(), text: text.clone(), layer: 0 };
        let strict = Manifest::read(source.clone().into(), Rules::Ours);
        let lenient = Manifest::read(source.into(), Rules::Others);
        assert_eq!(strict.tasks, lenient.tasks, "strictness is about words, not about meaning");
    }
    let layer = LayerSource::Texts { name: "fuzz".into(), texts, rules: Rules::Others };
    let catalog = Catalog::load(&Fs::real(), &[layer]).expect("nothing has to be found on a disk");
    for found in &catalog.diagnostics {
        let (text, place) = (&found.source.text, found.place);
        assert!(text.get(place.start..place.end).is_some(), "{found:?}");
        assert!(place.line >= 1 && place.column >= 1, "{found:?}");
        let lines = text[..place.start].matches('\n').count() + 1;
        // A line may end with a carriage return alone, which an editor may see otherwise.
        assert!(text.contains('\r') || lines == place.line, "{found:?}");
        assert!(!found.message.starts_with("it cannot be used"), "shape and type differ: {found:?}");
        let shown = face::diagnostic_text(found);
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    }
    let platform = Platform {
        family: "linux".into(),
        id: "debian".into(),
        like: Vec::new(),
        release: Some("12".into()),
        arch: "x86_64".into(),
        managers: vec![PackageManager::Apt],
    };
    for task in catalog.tasks() {
        let _ = recipe(&task.item, &platform, &Situation::default());
    }
    let _ = catalog.search(&["a".to_owned()]);
});
