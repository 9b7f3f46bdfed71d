//! `seeds <folder>`: writes the first inputs of the fuzzer, in one folder per target.

use std::path::Path;
use std::{env, fs, io};
use varve_safety::fuzz::{TARGETS, seeds};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or_else(|| io::Error::other("name a folder"))?;
    for (name, _) in TARGETS {
        let corpus = Path::new(&folder).join(name);
        fs::create_dir_all(&corpus)?;
        for (number, bytes) in seeds(name).iter().enumerate() {
            fs::write(corpus.join(format!("seed-{number}")), bytes)?;
        }
    }
    Ok(())
}
