/**
 * Which reads count. Left out is what decides nothing or changes in every run:
 *
 *   paths      kernel files (`/proc`, `/sys`, `/dev`), the system's folder for temporary files unless the project is in it,
 *              hidden folders of `node_modules`, where tools keep caches, the folder of the cache itself, whether the
 *              folders above it exist, which the cache makes, and names with a NUL byte, which virtual modules have
 *   packages   a file of an installed package counts as the package.json of that package. A package that is a link into the
 *              project counts file by file. The archives of Yarn Plug'n'Play do not count, only the packages in them
 *   variables  those that describe the terminal and the package manager that started the process; and, while all variables
 *              are gone through, those that a CI service sets to a new value for each run, and those of terminals, editors,
 *              shells and desktops: code that passes through all of them has not asked for one
 */
import type * as nodePath from 'node:path'
import { builtin } from '../host/builtin.ts'
import type { Disk, ReadKind } from './kinds.ts'
import { isArchive, isPlugged } from './plugged.ts'

/** Variables of terminals, shells and package managers. */
const IGNORED_VARIABLES: readonly RegExp[] = [
  /^(?:npm_.*|NODE|INIT_CWD|PWD|OLDPWD|SHLVL|SHELL|_)$/,
  /^(?:TERM|TERM_.*|COLORTERM|COLUMNS|LINES|FORCE_COLOR|NO_COLOR|CLICOLOR.*|DISPLAY|WINDOWID|SSH_.*|XDG_SESSION.*)$/,
  /^(?:DEBUG|NODE_DEBUG|NODE_V8_COVERAGE|VARVE_.*)$/,
]

/** Variables that CI services set for each run. */
const VARIABLES_PER_RUN =
  /^(?:GITHUB_|RUNNER_|ACTIONS_|CI_|BUILD_|BUILDKITE_|CIRCLE_|TRAVIS_|SYSTEM_|AGENT_|VERCEL_|NETLIFY_|CF_PAGES_|HOSTNAME$)/

/** Variables of terminals, editors, shells and desktops, and of what these start. They count only if code names one. */
const OF_TERMINAL: readonly RegExp[] = [
  /^(?:TERMINAL.*|TERMINFO.*|TERMINATOR_.*|COLORFGBG|LC_TERMINAL.*|ITERM.*|KITTY_.*|WEZTERM_.*|ALACRITTY_.*|GHOSTTY_.*|KONSOLE_.*)$/,
  /^(?:VTE_.*|TILIX_.*|WARP_.*|FIG_.*|HYPER_.*|TMUX.*|STY|ZELLIJ.*|BYOBU_.*|WT_.*|WSL.*|ConEmu.*|ANSICON.*|SESSIONNAME|MSYSTEM.*)$/,
  /^(?:VSCODE_.*|ELECTRON_.*|CHROME_DESKTOP|GIT_ASKPASS|GIT_EDITOR|JETBRAINS_.*|JEDITERM_.*|IDEA_.*|__INTELLIJ_.*|PROCESS_LAUNCHED_BY_.*)$/,
  /^(?:CURSOR_.*|WINDSURF_.*|ZED_.*|NVIM.*|VIM.*|MYVIMRC|INSIDE_EMACS|EMACS.*|CLAUDE.*|COPILOT_.*|GEMINI_CLI|PYTHONSTARTUP|BUNDLED_DEBUGPY_PATH)$/,
  /^(?:SHELLOPTS|BASH.*|ZSH.*|ZDOTDIR|USER_ZDOTDIR|FISH_.*|HIST.*|SAVEHIST|PROMPT.*|PS[1-4]|STARSHIP_.*|_?P9K_.*|POSH_.*|ATUIN_.*|DIRENV_.*)$/,
  /^(?:LS_?COLORS|EXA_COLORS|GREP_.*|LESS.*|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|MAIL|MOTD_SHOWN|GPG_.*|_?_MISE_.*|MISE_.*|FNM_.*|NVM_.*)$/,
  /^(?:XDG_.*|DBUS_.*|WAYLAND_.*|XAUTHORITY|XMODIFIERS|.*_IM_MODULE|IM_CONFIG_PHASE|CLUTTER_.*|DESKTOP_.*|GDMSESSION|GDM_.*|GDK_.*|GTK.*|GIO_.*)$/,
  /^(?:GSETTINGS_.*|GNOME_.*|GJS_.*|QT_.*|KDE_.*|PLASMA_.*|SESSION_MANAGER|WINDOWPATH|I3SOCK|SWAYSOCK|HYPRLAND_.*|ORIGINAL_XDG_.*|NO_AT_BRIDGE)$/,
  /^(?:INVOCATION_ID|JOURNAL_STREAM|MANAGERPID.*|SYSTEMD_.*|MEMORY_PRESSURE_.*|SNAP.*|FLATPAK_.*|APPIMAGE|APPDIR|ARGV0|BAMF_DESKTOP_FILE_HINT)$/,
  /^(?:__CF.*|XPC_.*|COMMAND_MODE|SECURITYSESSIONID|Apple_PubSub_.*|LaunchInstanceID|MallocNanoZone)$/,
  // Package managers, version managers and editors add directories of the checkout or their own, and a debugger.
  /^(?:PATH|Path|NODE_OPTIONS|LANG)$/,
]

const KERNEL = /^\/(?:proc|sys|dev)(?:\/|$)/

/** Whether a variable counts; `isListed`: by code that goes through all of them. */
export function isCountedVariable(name: string, isListed: boolean): boolean {
  if (IGNORED_VARIABLES.some((ignored) => ignored.test(name))) return false
  return !isListed || !(VARIABLES_PER_RUN.test(name) || isOfTerminal(name))
}

/** Whether a variable describes where a program was started. */
export function isOfTerminal(name: string): boolean {
  return OF_TERMINAL.some((names) => names.test(name))
}

/** The names of all variables that begin with a prefix, in whatever case, and count while they are gone through. */
export function countedVariables(prefix: string): string[] {
  const names = Object.keys(globalThis.process.env)
  return names.filter((name) => name.toUpperCase().startsWith(prefix) && isCountedVariable(name, true))
}

/** Decides about paths for one project. */
export class CountedPaths {
  readonly #disk: Disk
  readonly #ignored: Set<string>
  /** The real folder of each package that is a link into the project; undefined for installed ones. */
  readonly #links: Map<string, string | undefined> = new Map()

  /** `root`: the project's folder. */
  constructor(disk: Disk, root: string) {
    this.#disk = disk
    const { paths } = disk
    const temporary = builtin('node:os')?.tmpdir()
    this.#ignored = new Set(temporary === undefined || isBelow(paths, root, temporary) ? [] : [temporary])
  }

  /** Files in this folder, absolute, do not count. */
  ignore(folder: string): void {
    this.#ignored.add(folder)
  }

  /** What to record of a read; undefined if it does not count. */
  decide(kind: ReadKind, path: string): readonly [kind: ReadKind, path: string] | undefined {
    const { paths } = this.#disk
    if (path.includes('\0') || KERNEL.test(path) || isArchive(path)) return undefined
    if (
      [...this.#ignored].some(
        (folder) => isBelow(paths, path, folder) || (kind === 'type' && isBelow(paths, folder, path)),
      )
    )
      return undefined
    const folder = `${paths.sep}node_modules${paths.sep}`
    const at = path.lastIndexOf(folder)
    if (at === -1) return [kind, path]
    const [first = '', second = '', ...rest] = path.slice(at + folder.length).split(paths.sep)
    if (first.startsWith('.') || first === '') return undefined
    const isScoped = first.startsWith('@')
    if (isScoped && second === '') return [kind, path]
    const own = path.slice(0, at + folder.length) + (isScoped ? paths.join(first, second) : first)
    const real = this.#linkOf(own)
    if (real === undefined) return [isPlugged() ? 'package' : 'content', paths.join(own, 'package.json')]
    return this.decide(kind, paths.join(real, ...(isScoped ? rest : [second, ...rest])))
  }

  /** Whether a file at this path is one of the project's: no cache, temporary file or part of a package. */
  keeps(path: string): boolean {
    const isCache = path.split(this.#disk.paths.sep).some((name) => /^\..*cache$/i.test(name))
    return !isCache && this.decide('content', path)?.[1] === path
  }

  /** Whether a read counts as it is. */
  has(read: { readonly kind: ReadKind; readonly path: string } | undefined): boolean {
    return read !== undefined && this.decide(read.kind, read.path)?.[1] === read.path
  }

  #linkOf(folder: string): string | undefined {
    if (this.#links.has(folder)) return this.#links.get(folder)
    let real: string | undefined
    try {
      real = this.#disk.fs.realpathSync(folder)
    } catch {
      real = undefined
    }
    const isInstalled =
      real === undefined || real.includes(`${this.#disk.paths.sep}node_modules${this.#disk.paths.sep}`)
    const link = isInstalled ? undefined : real
    this.#links.set(folder, link)
    return link
  }
}

/** Whether `path` is `folder` or below it. */
export function isBelow(paths: typeof nodePath, path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(paths.sep) ? folder : `${folder}${paths.sep}`)
}
