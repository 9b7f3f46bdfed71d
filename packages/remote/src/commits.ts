/**
 * The commits whose manifests are looked for in a store without a head, the newest first:
 *
 *   1. the last 16 first-parent commits of the Git repository in the working directory
 *   2. what CI names: the commit that it builds, the one before the push, the base of the pull request
 *
 * A shallow clone has only the first of them, which for a pull request is a commit that no build has published: then 2 finds the others.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isObject, isText } from './options.ts'
import { disk } from './host.ts'

const COMMITS = 16
const GIT_MS = 2000

/** Variables with a commit: GitHub, GitLab, Jenkins, Buildkite, CircleCI, Azure, Bitbucket, Travis. */
const VARIABLES = [
  'GITHUB_SHA',
  'CI_COMMIT_SHA',
  'CI_MERGE_REQUEST_DIFF_BASE_SHA',
  'CI_COMMIT_BEFORE_SHA',
  'GIT_COMMIT',
  'GIT_PREVIOUS_SUCCESSFUL_COMMIT',
  'BUILDKITE_COMMIT',
  'CIRCLE_SHA1',
  'BUILD_SOURCEVERSION',
  'BITBUCKET_COMMIT',
  'TRAVIS_COMMIT',
]

/** Commits of the repository in `directory` and of the environment; none if there are none. */
export async function recentCommits(
  directory: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string[]> {
  const found = [
    await commitsOfGit(directory),
    VARIABLES.map((name) => environment[name]),
    await commitsOfEvent(environment['GITHUB_EVENT_PATH']),
  ]
  return [...new Set(found.flat().filter(isCommit))]
}

async function commitsOfGit(cwd: string): Promise<string[]> {
  try {
    const { stdout } = await promisify(execFile)('git', ['rev-list', '--first-parent', `-${COMMITS}`, 'HEAD'], {
      cwd,
      timeout: GIT_MS,
    })
    return stdout.split('\n')
  } catch {
    return [] // no repository, or no Git
  }
}

/** That of a payload of GitHub. */
const EVENT_BYTES_MAX = 25 << 20

/** Commits of the file in which GitHub Actions describes what has started a workflow. */
async function commitsOfEvent(path: string | undefined): Promise<unknown[]> {
  if (path === undefined || path === '') return []
  try {
    const stats = await disk.promises.stat(path)
    if (!stats.isFile() || stats.size > EVENT_BYTES_MAX) return []
    const event: unknown = JSON.parse(await disk.promises.readFile(path, 'utf8'))
    const request = isObject(event) ? event['pull_request'] : undefined
    const base = isObject(request) ? request['base'] : undefined
    return [isObject(event) ? event['before'] : undefined, isObject(base) ? base['sha'] : undefined]
  } catch {
    return []
  }
}

/** Zeros are what CI writes if there is no such commit. */
function isCommit(value: unknown): value is string {
  return isText(value) && /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(value) && !/^0+$/.test(value)
}
