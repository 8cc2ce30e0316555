import { membersOf, parsedJson } from '../../core/json'
import { MAX_TEXT_CHARACTERS } from '../../core/models/model-file-schema'
import type { ModelVendor } from '../../core/models/model-vendors'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import type { ListedModels } from '../../pipeline/models/model-backend'
import { VENDORS } from './http-upstream'
import { wordsOf } from './vendor'

const LIST_MS = 15_000
const MAX_LIST_BYTES = 8 * 1024 * 1024
const MAX_MODELS = 2_000

/** Asks a vendor which models it has, with our key. It costs nothing there. */
export async function listModels(
  fetch: OutboundFetch,
  { kind, baseUrl }: Pick<ModelVendor, 'kind' | 'baseUrl'>,
  key: string | null,
): Promise<ListedModels> {
  const failed = (problem: string, status: number | null = null, isForbidden = false) => ({
    status,
    problem,
    isForbidden,
    models: [],
  })
  const answer = await fetch({
    url: `${baseUrl}/models${kind === 'openai' ? '' : kind === 'anthropic' ? '?limit=1000' : '?pageSize=1000'}`,
    headers: { accept: 'application/json', ...VENDORS[kind].headers(key) },
    timeoutMs: LIST_MS,
    maxBytes: MAX_LIST_BYTES,
  })
  if (!answer.ok) {
    const isForbidden = answer.error.kind === 'forbidden_address'
    return failed(`There is no answer: ${answer.error.kind}`, null, isForbidden)
  }
  const { status, body } = answer.value
  const text = new TextDecoder().decode(body)
  if (status !== 200) return failed(`The vendor answered with status ${status}: ${wordsOf(text, key)}`, status)
  const models = modelsIn(text)
  if (models === null)
    return failed('The answer is no list of models. Check the URL: it ends with the version, such as /v1.', status)
  return { status, problem: null, isForbidden: false, models: models.slice(0, MAX_MODELS) }
}

/** The ids in a list of models: `data` at OpenAI and Anthropic, `models` at Google. Null if it is none. */
function modelsIn(text: string): readonly string[] | null {
  const { data, models } = membersOf(parsedJson(text))
  const list: unknown = data ?? models
  if (!Array.isArray(list)) return null
  const names = list
    .map((one: unknown) => Object(one).id ?? Object(one).name)
    .filter((id): id is string => typeof id === 'string' && id.length <= MAX_TEXT_CHARACTERS)
  return [...new Set(names.map((id) => id.replace(/^models\//, '')))].sort()
}
