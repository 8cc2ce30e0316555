import { ConfigError } from './config-error'

/** What the environment says of models; the models themselves stand in a file and in the database. */
export interface ModelSettings {
  /** The JSON file of the catalogue; null when there is none. */
  readonly file: string | null
  /** The output cap of a call that names none, of a model that has none of its own. */
  readonly defaultOutputTokens: number
  /** Whether `sandbox/echo` and `sandbox/extract` are there: by default everywhere but in production (spec-answers 6). */
  readonly sandbox: boolean
  /** Our key at an upstream, by the name of its variable. */
  readonly keyOf: (name: string) => string | null
}

type Read = (name: string) => string | null

export function modelSettings(read: Read, production: boolean): ModelSettings {
  const file = read('MODELS_FILE')
  if (file !== null && !file.endsWith('.json')) throw new ConfigError('MODELS_FILE must end in .json')
  const cap = read('MODEL_OUTPUT_TOKENS') ?? '4096'
  if (!/^[1-9]\d{0,6}$/.test(cap))
    throw new ConfigError(`MODEL_OUTPUT_TOKENS must be a whole number above 0, not "${cap}"`)
  const sandbox = read('SANDBOX_MODELS') ?? String(!production)
  if (sandbox !== 'true' && sandbox !== 'false')
    throw new ConfigError(`SANDBOX_MODELS must be true or false, not "${sandbox}"`)
  return { file, defaultOutputTokens: Number(cap), sandbox: sandbox === 'true', keyOf: read }
}
