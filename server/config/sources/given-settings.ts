import { ConfigError, collecting, type OnMistake, throwMistake } from '../config-error'
import { ALL_SETTINGS } from '../schema/all-settings'
import type { Read } from '../schema/setting'
import { similarName } from '../schema/similar-names'
import { readConfigurationFile, systemReason } from './configuration-file'
import { readLimited } from './read-limited'

export type Environment = Readonly<Record<string, string | undefined>>

/** A value as text, and where it comes from: `environment`, or a file with its line. */
interface Given {
  readonly text: string
  readonly from: string
}

/** The settings that are given, wherever they are given, before they are validated. */
export interface GivenSettings {
  readonly read: Read
  /** All values by name, also those of names that are no settings but that APIs may name. */
  readonly texts: Environment
  /** A secret that a model names: a variable of any name, or the file that `NAME_FILE` names. */
  readonly secret: Read
  /** Names of variables that are set to nothing. */
  readonly empty: ReadonlySet<string>
  /** Where the value of a setting comes from; null for its default. */
  readonly from: (name: string) => string | null
  /** The configuration file; null if there is none. */
  readonly file: string | null
  /** Unsafe settings that do not stop the start. */
  readonly warnings: readonly string[]
}

const FILE = '_FILE'
const MAX_SECRET_BYTES = 64 * 1024
const ENVIRONMENT = 'environment'

/**
 * Takes each setting from the environment, or else from the configuration file. Throws a `ConfigError` for the first mistake, unless
 * `onMistake` takes them.
 */
export function givenSettings(
  environment: Environment,
  dataDir: string,
  onMistake: OnMistake = throwMistake,
): GivenSettings {
  const warnings: string[] = []
  const file = readConfigurationFile(environment['CONFIG_FILE']?.trim() || null, dataDir, onMistake)
  const fromFile = new Map(
    [...(file?.values ?? [])].map(([name, { text, location }]) => [name, { text, from: location }]),
  )
  const fromEnvironment = new Map<string, Given>()
  for (const [name, text] of Object.entries(environment)) {
    if (text?.trim()) fromEnvironment.set(name, { text, from: ENVIRONMENT })
  }
  refuseMistyped(fromEnvironment, { warnings, onMistake })
  if (file?.isOpen && [...fromFile.keys()].some((name) => isSecret(name) && !name.endsWith(FILE)))
    warnings.push(`${file.path} contains secrets, but other users may read it. Run: chmod o= ${file.path}`)
  const given = new Map([
    ...withSecretFiles(fromFile, isSecret, { warnings, onMistake }),
    ...withSecretFiles(fromEnvironment, isOwnSecret, { warnings, onMistake }),
  ])
  const read: Read = (name) => given.get(name)?.text.trim() || null
  return {
    read,
    secret: namedSecrets(read),
    texts: Object.fromEntries([...given].map(([name, { text }]) => [name, text])),
    empty: new Set(Object.keys(environment).filter((name) => environment[name]?.trim() === '' && !given.has(name))),
    from: (name) => given.get(name)?.from ?? null,
    file: file?.path ?? null,
    warnings,
  }
}

interface Findings {
  readonly warnings: string[]
  readonly onMistake: OnMistake
}

/** Adds to the values of one source those that its `NAME_FILE` entries refer to. */
function withSecretFiles(
  values: ReadonlyMap<string, Given>,
  mayBeFile: (name: string) => boolean,
  { warnings, onMistake }: Findings,
): ReadonlyMap<string, Given> {
  const all = new Map(values)
  for (const [fileName, { text, from }] of values) {
    if (!fileName.endsWith(FILE) || ALL_SETTINGS.has(fileName)) continue
    const name = fileName.slice(0, -FILE.length)
    collecting(onMistake, () => {
      if (!mayBeFile(name)) {
        if (ALL_SETTINGS.has(name))
          throw new ConfigError(`${fileName} is not a setting: only secrets can be read from files. Set ${name}`)
        return
      }
      if (values.has(name)) throw new ConfigError(`${name} and ${fileName} are both set. Remove one of them`)
      const path = text.trim()
      all.set(name, { text: secretOf(path, fileName, warnings), from: `${path}, named by ${fileName} (${from})` })
      all.delete(fileName)
    })
  }
  return all
}

/** In the configuration file, every name that is no setting is that of a secret. */
function isSecret(name: string): boolean {
  return ALL_SETTINGS.get(name)?.secret ?? true
}

/** In the environment, other programs have names too. */
export function isOwnSecret(name: string): boolean {
  return ALL_SETTINGS.get(name)?.secret ?? /^UPSTREAM_./.test(name)
}

/** Models name variables at any time, so their files are read at the first use. */
function namedSecrets(read: Read): Read {
  const files = new Map<string, string>()
  return (name) => {
    const path = read(`${name}${FILE}`)
    const text = read(name) ?? files.get(name)
    if (text !== undefined && text !== null) return text
    if (path === null || ALL_SETTINGS.has(`${name}${FILE}`)) return null
    try {
      const found = readSecret(path, `${name}${FILE}`).text.trim()
      files.set(name, found)
      return found || null
    } catch {
      // The call that needs it fails like one whose variable is not set.
      return null
    }
  }
}

function secretOf(path: string, name: string, warnings: string[]): string {
  const secret = readSecret(path, name)
  if (secret.mode & 0o007) warnings.push(`${name}: other users may read ${path}. Run: chmod o= ${path}`)
  if (secret.text.trim() === '') throw new ConfigError(`${name}: ${path} is empty. Write the secret into it`)
  return secret.text
}

function readSecret(path: string, name: string): { text: string; mode: number } {
  try {
    const found = readLimited(path, MAX_SECRET_BYTES)
    if (found === null) throw new ConfigError(`${name}: ${path} is larger than 64 KB, so it is not a secret`)
    // Editors and `echo` end a file with a newline, which is not part of the secret.
    return { text: found.text.replace(/\r?\n$/, ''), mode: found.mode }
  } catch (failure) {
    if (failure instanceof ConfigError) throw failure
    throw new ConfigError(
      `${name}: ${path} cannot be read: ${systemReason(failure)}. Name a file that contains the secret, such as /run/secrets/${name.slice(0, -FILE.length).toLowerCase()}`,
    )
  }
}

/** The standard has many more names than the gateway reads. */
const OTHERS_NAMES = /^(OTEL|UPSTREAM)_(?!WALLET)/

/** A name that is nearly that of a setting is a mistake. If that setting is set too, it may be another program's. */
function refuseMistyped(environment: ReadonlyMap<string, Given>, { warnings, onMistake }: Findings): void {
  for (const name of environment.keys()) {
    const bare = name.endsWith(FILE) ? name.slice(0, -FILE.length) : name
    if (ALL_SETTINGS.has(name) || ALL_SETTINGS.has(bare) || OTHERS_NAMES.test(name)) continue
    const meant = similarName(name, ALL_SETTINGS.keys()) ?? similarName(bare, ALL_SETTINGS.keys())
    if (meant === null) continue
    if (environment.has(meant) || environment.has(`${meant}${FILE}`)) {
      warnings.push(`${name} is not a setting and is ignored; ${meant} is set too. Remove ${name} if it is a mistake`)
      continue
    }
    const example = ALL_SETTINGS.get(meant)?.example
    onMistake(
      new ConfigError(
        `${name} is not a setting. Did you mean ${meant}${example ? `, such as ${meant}=${example}` : ''}? If another program needs ${name}, start the gateway without it: env -u ${name} ...`,
      ),
    )
  }
}
