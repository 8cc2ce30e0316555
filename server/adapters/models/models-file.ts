import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Model } from '../../core/models/model'
import { parseModelEntry } from '../../core/models/model-entry'
import type { TokenPrice } from '../../core/models/token-price'
import { isUnitPrice, type ModelPrice } from '../../core/models/unit-price'
import type { Money } from '../../core/money'

/** The catalog file cannot be used. Its message is the one line that a failed start prints. */
class ModelsFileError extends Error {}

/** Reads `{ "models": [ModelEntry, ...] }`; a single bad entry prevents the start. */
export async function modelsOfFile(file: string, created: number): Promise<Model[]> {
  const path = resolve(file)
  const content = await contentOf(path)
  const entries: unknown = Object(content).models
  if (!Array.isArray(entries)) throw new ModelsFileError(`${path} must contain {"models": [...]}`)
  const models = entries.map((entry: unknown) => {
    const model = parseModelEntry(entry, { created, priceVersion })
    if (!model.ok) throw new ModelsFileError(`${path}: ${model.error}`)
    return model.value
  })
  const twice = models.find(({ id }, i) => models.findIndex((other) => other.id === id) !== i)
  if (twice) throw new ModelsFileError(`${path}: the model ${twice.id} is listed twice`)
  return models
}

async function contentOf(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw new ModelsFileError(
      `MODELS_FILE: ${path} could not be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** The version depends on the price only, not on the rest of the file. */
function priceVersion(price: ModelPrice): string {
  const text = isUnitPrice(price) ? JSON.stringify(price) : tokenAmounts(price).join('/')
  return `file_${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
}

function tokenAmounts({ input, output, cacheRead, cacheWrite, cacheWriteHour }: TokenPrice): readonly Money[] {
  return [input, output, cacheRead, cacheWrite, ...(cacheWriteHour === undefined ? [] : [cacheWriteHour])]
}
