import { flag, group, httpUrl, integer, type Read, text } from './schema/setting'

/** Settings of models. The models themselves are defined in MODELS_FILE and in the database. */
export interface ModelSettings {
  /** The JSON file with models; null if there is none. */
  readonly file: string | null
  /** The output limit of calls that set none, for models without one of their own. */
  readonly defaultOutputTokens: number
  /** Whether the `sandbox/` models are available: by default everywhere except in production (spec D6). */
  readonly sandbox: boolean
  /** Where a newer sheet of vendors' prices is; null if there is none. */
  readonly priceSheet: string | null
  /** The API key of an upstream, by the name of its environment variable. */
  readonly keyOf: (name: string) => string | null
  /** Whether that variable is set, but to nothing: a mistake of a script or a secret that did not arrive. */
  readonly isEmpty: (name: string) => boolean
}

export const MODELS = group('Models', '', {
  MODELS_FILE: text({
    is: /\.json$/,
    rule: 'a JSON file such as models.json',
    example: 'models.json',
    doc: 'JSON file of the models on sale ([models.md](models.md))',
  }),
  MODEL_OUTPUT_TOKENS: integer({
    default: 4096,
    min: 1,
    max: 9_999_999,
    doc: 'Output cap of a model call that sets none',
  }),
  MODEL_PRICE_SHEET: httpUrl({
    example: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
    doc: "A sheet of vendors' prices that is read once a day, to log models that cost less than their vendor charges ([models.md](models.md#take-over-the-prices-of-vendors))",
  }),
  SANDBOX_MODELS: flag({
    default: null,
    otherwise: '`true`, in production `false`',
    doc: 'Whether the `sandbox/` models are available',
  }),
})

interface Given {
  readonly read: Read
  /** Reads a variable of any name. */
  readonly secret: Read
  readonly empty: ReadonlySet<string>
}

export function modelSettings({ read, secret, empty }: Given, production: boolean): ModelSettings {
  const { MODELS_FILE, MODEL_OUTPUT_TOKENS, MODEL_PRICE_SHEET, SANDBOX_MODELS } = MODELS.settings
  return {
    file: MODELS_FILE.of(read),
    defaultOutputTokens: MODEL_OUTPUT_TOKENS.of(read),
    priceSheet: MODEL_PRICE_SHEET.of(read),
    sandbox: SANDBOX_MODELS.of(read) ?? !production,
    keyOf: secret,
    isEmpty: (name) => empty.has(name),
  }
}
