import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Model } from '../../core/models/model'
import { parseModelEntry } from '../../core/models/model-entry'
import type { TokenPrice } from '../../core/models/token-price'
import { isUnitPrice, type ModelPrice } from '../../core/models/unit-price'
import type { Money } from '../../core/money'
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
  const lines = jsonLines(text, 'models')
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    return only(
      `MODELS_FILE: ${path}${lines.mistake === null ? '' : `:${lines.mistake}`} is not JSON: ${reasonOf(error)}`,
    )
  }
  const entries: unknown = Object(content).models
  if (!Array.isArray(entries)) return only(`${path} must contain {"models": [...]}`)
  return modelsOf(entries, created, (index) => `${path}:${lines.elements[index] ?? 1}`)
}

function modelsOf(entries: readonly unknown[], created: number, placeOf: (index: number) => string): ModelsFile {
  const models: Model[] = []
  const problems: string[] = []
  for (const [index, entry] of entries.entries()) {
    const model = parseModelEntry(entry, { created, priceVersion })
    if (!model.ok) problems.push(`${placeOf(index)}: ${model.error}`)
    else if (models.some(({ id }) => id === model.value.id))
      problems.push(`${placeOf(index)}: the model ${model.value.id} is listed twice`)
    else models.push(model.value)
  }
  return { models, problems }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The version depends on the price only, not on the rest of the file. */
function priceVersion(price: ModelPrice): string {
  const text = isUnitPrice(price) ? JSON.stringify(price) : tokenAmounts(price).join('/')
  return `file_${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
}

function tokenAmounts({ input, output, cacheRead, cacheWrite, cacheWriteHour }: TokenPrice): readonly Money[] {
  return [input, output, cacheRead, cacheWrite, ...(cacheWriteHour === undefined ? [] : [cacheWriteHour])]
}
