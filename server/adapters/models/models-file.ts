import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Model } from '../../core/models/model'
import { parseModelEntry } from '../../core/models/model-entry'
import type { ModelPrice } from '../../core/models/unit-price'
import { reasonOf } from '../../core/result'
import { jsonLines } from './json-lines'

/** The models of a file, and all mistakes in it, each with its place. */
export interface ModelsFile {
  readonly models: readonly Model[]
  readonly problems: readonly string[]
}

/** Reads `{ "models": [ModelEntry, ...] }`. A single mistake prevents a start. */
export async function readModelsFile(file: string, created: number): Promise<ModelsFile> {
  const path = resolve(file)
  const only = (problem: string) => ({ models: [], problems: [problem] })
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    return only(`MODELS_FILE: ${path} could not be read: ${reasonOf(error)}`)
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    const { mistake } = jsonLines(text, 'models')
    return only(`MODELS_FILE: ${path}${mistake === null ? '' : `:${mistake}`} is not JSON: ${reasonOf(error)}`)
  }
  const entries: unknown = Object(content).models
  if (!Array.isArray(entries)) return only(`${path} must contain {"models": [...]}`)
  const { models, mistakes } = modelsOf(entries, created)
  // Lines are found only for messages.
  const { elements } = mistakes.length === 0 ? { elements: [] } : jsonLines(text, 'models')
  return { models, problems: mistakes.map(({ index, error }) => `${path}:${elements[index] ?? 1}: ${error}`) }
}

function modelsOf(entries: readonly unknown[], created: number) {
  const models = new Map<string, Model>()
  const mistakes: { readonly index: number; readonly error: string }[] = []
  for (const [index, entry] of entries.entries()) {
    const model = parseModelEntry(entry, { created, priceVersion })
    if (!model.ok) mistakes.push({ index, error: model.error })
    else if (models.has(model.value.id)) mistakes.push({ index, error: `the model ${model.value.id} is listed twice` })
    else models.set(model.value.id, model.value)
  }
  return { models: [...models.values()], mistakes }
}

/** The version depends on the price only, not on the rest of the file. */
function priceVersion(price: ModelPrice): string {
  return `file_${createHash('sha256').update(JSON.stringify(price)).digest('hex').slice(0, 12)}`
}
