/**
 * Which environment variables count as inputs. Left out are those that describe the terminal and the package manager that started the
 * process; and, for code that goes through all variables, those that a CI service or a task runner sets to a new value for each run,
 * and those of terminals, editors, shells and desktops: such code has not asked for one.
 */
import { ownEnv } from '../host/own.ts'

/** Variables of terminals, shells and package managers. */
const IGNORED_VARIABLES: readonly RegExp[] = [
  /^(?:npm_.*|NODE|INIT_CWD|PWD|OLDPWD|SHLVL|SHELL|_)$/,
  /^(?:TERM|TERM_.*|COLORTERM|COLUMNS|LINES|FORCE_COLOR|NO_COLOR|CLICOLOR.*|DISPLAY|WINDOWID|SSH_.*|XDG_SESSION.*)$/,
  /^(?:DEBUG|NODE_DEBUG|NODE_V8_COVERAGE|VARVE_.*)$/,
]

/** Variables that CI services and task runners set for each run. Applications have `NX_PUBLIC_*`. */
const VARIABLES_PER_RUN =
  /^(?:GITHUB_|RUNNER_|ACTIONS_|CI_|BUILD_|BUILDKITE_|CIRCLE_|TRAVIS_|SYSTEM_|AGENT_|VERCEL_|NETLIFY_|CF_PAGES_|NX_(?!PUBLIC_)|TURBO_|HOSTNAME$)/

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

/** Whether a variable counts; `isListed`: by code that goes through all of them. */
export function isCountedVariable(name: string, isListed: boolean): boolean {
  if (IGNORED_VARIABLES.some((ignored) => ignored.test(name))) return false
  return !isListed || !(VARIABLES_PER_RUN.test(name) || isOfTerminal(name))
}

/** Whether a variable describes where a program was started. */
export function isOfTerminal(name: string): boolean {
  return OF_TERMINAL.some((names) => names.test(name))
}

/** Those of the names, by default of all variables, that begin with a prefix, in whatever case, and count while they are gone through. */
export function countedVariables(prefix: string, names: Iterable<string> = Object.keys(ownEnv())): string[] {
  return [...names].filter((name) => name.toUpperCase().startsWith(prefix) && isCountedVariable(name, true))
}
