//! Unsafe names, safe names, colliding names, and random ones.

use super::*;
use std::path::{Component, Path};

/// Every rule that a single path can break, most of them in several variants.
fn hostile() -> Vec<(String, &'static str)> {
    let fixed: &[(&str, &str)] = &[
        ("", "is empty"),
        ("/", "is absolute"),
        ("/etc/passwd", "is absolute"),
        ("/a/../b", "is absolute"),
        ("//", "names a host"),
        ("//host/share/a", "names a host"),
        ("\\\\host\\share\\a", "names a host"),
        ("\\\\?\\C:\\a", "names a host"),
        ("\\\\.\\PhysicalDrive0", "names a host"),
        ("//./pipe/x", "names a host"),
        ("/\\host/share", "names a host"),
        ("\\/host/share", "names a host"),
        ("C:", "drive letter"),
        ("C:a", "drive letter"),
        ("c:/windows/system32", "drive letter"),
        ("z:\\a", "drive letter"),
        ("\\", "backslash"),
        ("\\a", "backslash"),
        ("a\\b", "backslash"),
        ("..\\a", "backslash"),
        ("a\\..\\..\\b", "backslash"),
        ("a/b\\", "backslash"),
        ("..", "'..'"),
        ("../a", "'..'"),
        ("a/..", "'..'"),
        ("a/../../b", "'..'"),
        ("a/b/../c", "'..'"),
        (".", "'.'"),
        ("./a", "'.'"),
        ("a/.", "'.'"),
        ("a/./b", "'.'"),
        ("a/", "empty part"),
        ("a//b", "empty part"),
        ("a/b//", "empty part"),
        ("ab:c", "':'"),
        ("a.js:stream", "':'"),
        ("ab::$DATA", "':'"),
        ("dir/file:$INDEX_ALLOCATION", "':'"),
        ("1:/a", "':'"),
        ("\0", "U+0000"),
        ("a\0b", "U+0000"),
        ("a/b\0.txt", "U+0000"),
        ("a\nb", "U+000A"),
        ("a\rb", "U+000D"),
        ("a\tb", "U+0009"),
        ("\u{1b}[31mred", "U+001B"),
        ("a\u{7f}", "U+007F"),
        ("a\u{9b}31m", "U+009B"),
        ("con", "'con', a device"),
        ("CON", "a device"),
        ("Prn", "a device"),
        ("aux", "a device"),
        ("aux.js", "'aux.js', a device"),
        ("src/aux.js", "a device"),
        ("aux/index.js", "'aux', a device"),
        ("NUL", "a device"),
        ("nul.tar.gz", "a device"),
        ("aux .js", "a device"),
        ("com0", "a device"),
        ("COM1", "a device"),
        ("com9.txt", "a device"),
        ("lpt0", "a device"),
        ("Lpt5.log", "a device"),
        ("com\u{b9}", "a device"),
        ("COM\u{b2}.txt", "a device"),
        ("lpt\u{b3}", "a device"),
        ("conin$", "a device"),
        ("CONOUT$.txt", "a device"),
        ("a.", "dot or space"),
        ("a ", "dot or space"),
        ("a./b", "dot or space"),
        ("a /b", "dot or space"),
        ("...", "dot or space"),
        (".. ", "dot or space"),
        ("../ ", "'..'"),
        (". .", "dot or space"),
        (" ", "dot or space"),
        ("a/b..", "dot or space"),
        ("con.", "dot or space"),
    ];
    let mut all: Vec<_> =
        fixed.iter().map(|(path, reason)| ((*path).to_owned(), *reason)).collect();
    all.push(("a".repeat(PART_BYTES_MAX + 1), "part of 241 bytes"));
    all.push((format!("a/{}", "\u{e9}".repeat(121)), "part of 242 bytes"));
    all.push((format!("{}.txt", "x".repeat(1 << 20)), "has 1048580 bytes"));
    all.push((vec!["abcdefg"; 129].join("/"), "has 1031 bytes"));
    all.push((vec!["a"; PARTS_MAX + 1].join("/"), "has 129 parts"));
    all
}

const GOOD: [&str; 36] = [
    "a",
    "index.js",
    "dist/types/index.d.ts",
    "node_modules/@scope/name/package.json",
    ".gitignore",
    ".a/.b/.c",
    "..a",
    "...a",
    "a..b",
    " leading",
    "with space.txt",
    "~",
    "~user/a",
    "-rf",
    "$HOME",
    "%TEMP%",
    "[...slug].js",
    "a?b*c",
    "\"quoted\" <a|b>",
    "console",
    "con1",
    "com",
    "com10",
    "comx.txt",
    "lpt\u{b9}\u{b9}",
    "auxiliary.js",
    "my.aux",
    "a-con",
    "conin",
    "clock$",
    "caf\u{e9}/men\u{fc}.txt",
    "cafe\u{301}",
    "\u{65e5}\u{672c}\u{8a9e}/\u{30d5}\u{30a1}\u{30a4}\u{30eb}",
    "\u{645}\u{644}\u{641}.txt",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}.png",
    "\u{202e}gpj.exe",
];

#[test]
fn unsafe_paths_are_rejected_with_the_rule_they_break() {
    let hostile = hostile();
    assert!(hostile.len() >= 80);
    for (path, reason) in hostile {
        let message = check(&path).expect_err(&path).to_string();
        assert!(message.contains(reason), "{path:?}: {message}");
        assert!(!message.contains(char::is_control), "{path:?}: {message:?}");
        let whole = varve_core::Error::UnsafePath { problem: check(&path).unwrap_err(), path };
        assert_eq!(whole.code(), "UNSAFE_PATH");
        assert!(!whole.to_string().contains(char::is_control), "{whole}");
    }
}

#[test]
fn safe_paths_are_accepted() {
    for path in GOOD {
        assert_eq!(check(path), Ok(()), "{path:?}");
    }
    assert_eq!(check(&"a".repeat(PART_BYTES_MAX)), Ok(()));
    assert_eq!(check(&vec!["a"; PARTS_MAX].join("/")), Ok(()));
    let longest = vec!["a".repeat(204); 5].join("/");
    assert_eq!((longest.len(), check(&longest)), (PATH_BYTES_MAX, Ok(())));
}

/// Adds files in order. The last one must be rejected with this reason and with both names in the message.
fn meets(paths: &[&str], reason: &str) {
    let mut set = PathSet::default();
    let (last, first) = paths.split_last().unwrap();
    for path in first {
        assert_eq!(set.insert(path, Role::Leaf), Ok(true), "{paths:?}");
    }
    let message = set.insert(last, Role::Leaf).expect_err(last).to_string();
    assert!(message.contains(reason), "{paths:?}: {message}");
}

#[test]
fn paths_that_are_equal_on_some_file_system_are_rejected() {
    for (path, other) in [
        ("readme.md", "README.md"),
        ("src/Index.ts", "src/index.ts"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{1e9e}", "ss"),
        ("\u{3c2}", "\u{3a3}"),
        ("\u{212a}", "k"),
        ("\u{17f}", "S"),
        ("\u{10400}", "\u{10428}"),
        ("\u{13a0}", "\u{ab70}"),
        ("\u{fb00}", "FF"),
        ("\u{c9}", "e\u{301}"),
        ("\u{1e0b}\u{323}", "D\u{323}\u{307}"),
    ] {
        meets(&[path, other], "differ by case only");
        meets(&[other, path], "differ by case only");
    }
    for (path, other) in [
        ("caf\u{e9}", "cafe\u{301}"),
        ("\u{212b}", "\u{c5}"),
        ("\u{ac00}", "\u{1100}\u{1161}"),
        ("\u{1e0b}\u{323}", "d\u{323}\u{307}"),
        ("\u{2126}", "\u{3a9}"),
        ("\u{390}", "\u{1fd3}"),
        ("\u{f900}", "\u{8c48}"),
    ] {
        meets(&[path, other], "two forms of Unicode");
        meets(&[other, path], "two forms of Unicode");
    }
}

#[test]
fn directories_with_colliding_names_are_rejected_like_files() {
    meets(&["Src/a", "src/b"], "'src' and 'Src' differ by case only");
    meets(&["a/Src/x/y", "b", "a/src"], "'a/src' and 'a/Src' differ by case only");
    meets(&["x/caf\u{e9}/a", "x/cafe\u{301}/b"], "two forms");
    meets(&["a", "a/b"], "'a' is a file or link in one and a directory in the other");
    meets(&["a/b/c/d", "a/b"], "'a/b' is a file or link");
    meets(&["A", "a/b"], "'a' and 'A' differ by case only");
}

#[test]
fn paths_that_differ_on_every_file_system_are_accepted() {
    let mut set = PathSet::default();
    for path in [
        "i", "\u{131}", "o", "\u{f8}", "\u{e9}", "e", "a/b", "a/bc", "ab/c", "\u{2460}", "1",
        "\u{ff21}", "\u{100}",
    ] {
        assert_eq!(set.insert(path, Role::Leaf), Ok(true), "{path:?}");
    }
    assert_eq!(set.insert("a/b", Role::Leaf), Ok(false));
    assert_eq!(set.insert("a", Role::Folder), Ok(false));
    assert_eq!(set.insert("empty/folder", Role::Folder), Ok(true));
    assert_eq!(set.insert("empty/folder/a", Role::Leaf), Ok(true));
    assert!(set.insert("a", Role::Leaf).is_err());
}

#[test]
fn link_targets_that_leave_the_root_are_rejected() {
    for (path, target, kept) in [
        ("a", "b", "b"),
        ("a", "./b//c/", "b/c"),
        ("x/a", "../b", "../b"),
        ("x/y/a", "../../b", "../../b"),
        ("x/y/a", "..", ".."),
        ("x/a", ".", "."),
        ("x/a", "./../y/./b", "../y/b"),
    ] {
        assert_eq!(link_target(path, target).as_deref(), Ok(kept), "{path} -> {target}");
    }
    for (path, target, reason) in [
        ("a", "..", "not below its root"),
        ("a", "../b", "not below its root"),
        ("a", ".", "not below its root"),
        ("a", "./", "not below its root"),
        ("x/a", "..", "not below its root"),
        ("x/a", "../../b", "not below its root"),
        ("x/a", "../../../../etc/passwd", "not below its root"),
        ("a", "", "is empty"),
        ("a", "/etc/passwd", "is absolute"),
        ("a", "//host/share", "names a host"),
        ("a", "C:/x", "drive letter"),
        ("a", "..\\x", "backslash"),
        ("a", "b\0", "U+0000"),
        ("x/a", "b/../c", "'..'"),
        ("x/a", "b/../../../c", "'..'"),
        ("x/a", "../aux", "a device"),
        ("a", "b.", "dot or space"),
    ] {
        let message = link_target(path, target).expect_err(target).to_string();
        assert!(message.contains(reason), "{path} -> {target}: {message}");
    }
}

/// Random text from pieces that break rules, with harmless letters in between.
fn random_path(random: &mut fastrand::Rng) -> String {
    const PIECES: [&str; 24] = [
        "/", "/", "/", "..", ".", "a", "B", "con", "aux", "com1", "\\", ":", "C:", " ", "\0", "\n",
        "\u{e9}", "e\u{301}", "\u{ff0f}", "\u{2215}", "\u{2024}", "~", "x.js", "$",
    ];
    (0..random.usize(1..8)).map(|_| PIECES[random.usize(..PIECES.len())]).collect()
}

#[test]
fn random_accepted_paths_never_leave_the_root() {
    let given = std::env::var("VARVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("VARVE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let root = Path::new("/some/root");
    let mut accepted = 0;
    for _ in 0..200_000 {
        let path = random_path(&mut random);
        if check(&path).is_err() {
            continue;
        }
        accepted += 1;
        let joined = root.join(&path);
        let rest: Vec<_> =
            joined.strip_prefix(root).expect("below the root").components().collect();
        assert!(
            !rest.is_empty() && rest.iter().all(|part| matches!(part, Component::Normal(_))),
            "{path:?}"
        );
        // Windows separates at both slashes, reads colons as streams and drives, and trims trailing dots and spaces.
        let parts: Vec<_> =
            path.split(['/', '\\']).map(|part| part.trim_end_matches([' ', '.'])).collect();
        assert!(parts.iter().all(|part| !part.is_empty() && !part.contains(':')), "{path:?}");
        assert_eq!(parts.join("/"), path);
    }
    assert!(accepted > 5_000, "only {accepted} accepted");
}

/// Follows a path through links as a kernel does. Returns `None` if it leaves the root.
fn resolve<'a>(links: &'a [(String, String)], path: &'a str) -> Option<Vec<&'a str>> {
    let mut todo: Vec<&str> = path.split('/').rev().collect();
    let mut at: Vec<&str> = Vec::new();
    for _ in 0..1000 {
        let Some(part) = todo.pop() else { return Some(at) };
        match part {
            "" => {}
            ".." => drop(at.pop()?),
            _ => {
                at.push(part);
                let here = at.join("/");
                if let Some((_, target)) = links.iter().find(|(link, _)| *link == here) {
                    at.pop();
                    todo.extend(target.split('/').rev());
                }
            }
        }
    }
    Some(at) // a cycle of links stays below the root
}

#[test]
fn chains_of_accepted_links_never_leave_the_root() {
    let given = std::env::var("VARVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("VARVE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut accepted = 0;
    let text = |random: &mut fastrand::Rng, pieces: &[&str]| {
        let parts: Vec<_> =
            (0..random.usize(1..5)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        parts.join("/")
    };
    for _ in 0..20_000 {
        let mut set = PathSet::default();
        let mut links = Vec::new();
        for _ in 0..4 {
            let (path, target) = (
                text(&mut random, &["a", "b", "c"]),
                text(&mut random, &["a", "b", "c", "..", "..", "."]),
            );
            if let Ok(target) = link_target(&path, &target)
                && set.insert(&path, Role::Leaf) == Ok(true)
            {
                links.push((path, target));
            }
        }
        accepted += links.len();
        for (path, target) in &links {
            assert!(resolve(&links, path).is_some(), "{path} -> {target} in {links:?}");
        }
    }
    assert!(accepted > 10_000, "only {accepted} accepted");
}
