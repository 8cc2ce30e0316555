import { ConfigError } from './config-error'

/** Settings of models. The models themselves are defined in MODELS_FILE and in the database. */
export interface ModelSettings {
  /** The JSON file with models; null if there is none. */
  readonly file: string | null
  /** The output limit of calls that set none, for models without one of their own. */
  readonly defaultOutputTokens: number
  /** Whether `sandbox/echo` and `sandbox/extract` are available: by default everywhere except in production (spec-answers 6). */
  readonly sandbox: boolean
  /** The API key of an upstream, by the name of its environment variable. */
  readonly keyOf: (name: string) => string | null
}

type Read = (name: string) => string | null

export function modelSettings(read: Read, production: boolean): ModelSettings {
  const file = read('MODELS_FILE')
  if (file !== null && !file.endsWith('.json'))
    throw new ConfigError(`MODELS_FILE must be a JSON file such as models.json, not "${file}"`)
  const cap = read('MODEL_OUTPUT_TOKENS') ?? '4096'
  if (!/^[1-9]\d{0,6}$/.test(cap))
    throw new ConfigError(`MODEL_OUTPUT_TOKENS must be an integer above 0 such as 4096, not "${cap}"`)
  const sandbox = read('SANDBOX_MODELS') ?? String(!production)
  if (sandbox !== 'true' && sandbox !== 'false')
    throw new ConfigError(`SANDBOX_MODELS must be true or false, not "${sandbox}"`)
  return { file, defaultOutputTokens: Number(cap), sandbox: sandbox === 'true', keyOf: read }
}
