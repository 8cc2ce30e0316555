import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigError, collecting, type OnMistake } from '../config-error'
import { ALL_SETTINGS } from '../schema/all-settings'
import { similarName } from '../schema/similar-names'
import { readLimited } from './read-limited'
import type { YamlMember } from './yaml-members'

/** In the data folder, unless `CONFIG_FILE` names another one. */
const DEFAULT_NAME = 'gateway.yaml'
/** The member with the secrets that models (`key_env`) and imported APIs (`UPSTREAM_*`) name. */
export const SECRETS = 'secrets'
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
const MAX_BYTES = 64 * 1024

export interface FileSettings {
  readonly path: string
  /** The values as text, as a variable would hold them, with where they are, such as `/etc/gateway.yaml:3`. */
  readonly values: ReadonlyMap<string, { readonly text: string; readonly location: string }>
  /** Whether users other than the owner and its group may read the file. */
  readonly isOpen: boolean
}

/** Where the configuration file is; null if there is none. */
function configurationFile(named: string | null, dataDir: string): string | null {
  if (named !== null) return resolve(named)
  const file = join(dataDir, DEFAULT_NAME)
  return existsSync(file) ? file : null
}

/**
 * Reads the configuration file. Throws a `ConfigError` with its line if it cannot be read, and hands on those of single names; no message
 * repeats a value.
 */
export function readConfigurationFile(
  named: string | null,
  dataDir: string,
  onMistake: OnMistake,
): FileSettings | null {
  const path = configurationFile(named, dataDir)
  if (path === null) return null
  const { text, isOpen } = content(path, named)
  // Most gateways have no file, so they do not load the parser.
  const { yamlMembers: members }: typeof import('./yaml-members') = require('./yaml-members')
  const values = new Map<string, { text: string; location: string }>()
  const add = (found: readonly YamlMember[], check: (name: string, at: string) => void) => {
    for (const member of found) {
      collecting(onMistake, () => {
        if (member.name === SECRETS && check === knownSetting) return add(member.members(), nameOfSecret)
        check(member.name, member.location)
        values.set(member.name, { text: member.text(), location: member.location })
      })
    }
  }
  add(members(text, path), knownSetting)
  return { path, values, isOpen }
}

/** `named`: what CONFIG_FILE is, if it is set. */
function content(path: string, named: string | null): { text: string; isOpen: boolean } {
  const [what, cure] =
    named === null
      ? [`The configuration file ${path}`, `Make it a file that this user may read, or remove it`]
      : [`CONFIG_FILE=${named}`, 'Name a file such as CONFIG_FILE=/etc/gateway/gateway.yaml, or unset it']
  try {
    const found = readLimited(path, MAX_BYTES)
    if (found === null)
      throw new ConfigError(`${what} is larger than 64 KB, so it is not a configuration file. ${cure}`)
    return { text: found.text, isOpen: (found.mode & 0o007) !== 0 }
  } catch (failure) {
    if (failure instanceof ConfigError) throw failure
    throw new ConfigError(`${what} cannot be read: ${systemReason(failure)}. ${cure}`)
  }
}

/** `ENOENT` and such in words. */
export function systemReason(failure: unknown): string {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : ''
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'it does not exist',
    EACCES: 'this user may not read it',
    EISDIR: 'it is a folder',
  }
  return known[code] ?? (code || 'unknown reason')
}

function knownSetting(name: string, at: string): void {
  const bare = name.endsWith('_FILE') && !ALL_SETTINGS.has(name) ? name.slice(0, -'_FILE'.length) : name
  const setting = ALL_SETTINGS.get(bare)
  if (setting?.environmentOnly)
    throw new ConfigError(`${at}: ${name} cannot be in the configuration file. Set it in the environment`)
  if (setting && (bare === name || setting.secret)) return
  const capitals = name.toUpperCase()
  const similar = ALL_SETTINGS.has(capitals) ? capitals : similarName(name, ALL_SETTINGS.keys())
  const hint =
    similar === null ? `A secret that a model or an API names belongs under "${SECRETS}"` : `Did you mean ${similar}?`
  throw new ConfigError(`${at}: ${safeName(name)} is not a setting. ${hint}`)
}

function nameOfSecret(name: string, at: string): void {
  if (!VARIABLE.test(name))
    throw new ConfigError(`${at}: names under "${SECRETS}" must be those of variables, such as OPENAI_API_KEY`)
  if (ALL_SETTINGS.has(name)) throw new ConfigError(`${at}: ${name} is a setting. Move it out of "${SECRETS}"`)
}

/** Somebody may have put a value where its name belongs. */
function safeName(name: string): string {
  return VARIABLE.test(name) && name.length <= 64 ? name : 'this name'
}
