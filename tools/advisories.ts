import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { runBun } from '../server/setup/tool'
import { type Component, shippedComponents, unaccepted } from './sbom'

/**
 * `bun run advisories`: whether what is shipped has a known vulnerability or an unreviewed licence. Asks the registry; where that
 * does not answer, `ops/advisories.json` decides, which must not be older than a quarter of a year then. That list and the licences are
 * also checked by a test.
 */
const ROOT = resolve(import.meta.dirname, '..')
const LIST = 'ops/advisories.json'
const MAX_AGE_DAYS = 92
const DAY_MS = 86_400_000

interface Advisory {
  readonly id: string
  readonly package: string
  /** A range of semantic versions. */
  readonly versions: string
  readonly about: string
}

interface AdvisoryList {
  /** When it was last compared with the registry. */
  readonly dated: string
  readonly advisories: readonly Advisory[]
}

/** The registry's answer, by package. */
type Answer = Readonly<
  Record<string, readonly { readonly url: string; readonly title: string; readonly vulnerable_versions: string }[]>
>

export async function offlineList(root: string): Promise<AdvisoryList> {
  return JSON.parse(await readFile(join(root, LIST), 'utf8'))
}

/** One line for each component that an advisory names. */
export function vulnerable(components: readonly Component[], advisories: readonly Advisory[]): readonly string[] {
  return components.flatMap(({ name, version }) =>
    advisories
      .filter((one) => one.package === name && Bun.semver.satisfies(version, one.versions))
      .map(({ id, versions, about }) => `${name} ${version} has ${id} (${versions}): ${about}`),
  )
}

/** The advisories of the registry about what is installed; a reason where it does not answer. */
async function askRegistry(root: string): Promise<readonly Advisory[] | string> {
  const { output } = await runBun(['audit', '--json'], { folder: root })
  const json = /^\{.*\}$/ms.exec(output)?.[0]
  if (json === undefined) return output.trim().split('\n').at(-1) ?? 'it says nothing'
  return Object.entries(JSON.parse(json) as Answer).flatMap(([name, found]) =>
    found.map(({ url, title, vulnerable_versions: versions }) => ({
      id: url.slice(url.lastIndexOf('/') + 1),
      package: name,
      versions,
      about: title,
    })),
  )
}

/** Everything that must be changed, a line each. */
async function problems(root: string, now: number): Promise<readonly string[]> {
  const [components, { dated, advisories }, answer] = await Promise.all([
    shippedComponents(root),
    offlineList(root),
    askRegistry(root),
  ])
  const found = unaccepted(components).map(
    ({ name, version, licence }) =>
      `${name} ${version} has the licence ${licence}, which is not on the list in sbom.ts`,
  )
  found.push(...vulnerable(components, advisories))
  if (typeof answer !== 'string') found.push(...vulnerable(components, answer))
  else {
    console.log(`The registry does not answer (${answer}); ${LIST} of ${dated} decides.`)
    if (now - Date.parse(dated) > MAX_AGE_DAYS * DAY_MS)
      found.push(`${LIST} is of ${dated}: compare it with the registry`)
  }
  console.log(`${components.length} packages, ${advisories.length} advisories listed`)
  return [...new Set(found)]
}

if (import.meta.main) {
  for (const problem of await problems(ROOT, Date.now())) {
    console.error(problem)
    process.exitCode = 1
  }
}
