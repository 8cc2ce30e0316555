import { type ModelsFile, readModelsFile } from '../adapters/models/models-file'
import type { ModelSettings } from '../config/model-settings'

interface ConfiguredModels extends ModelsFile {
  /** Problems that do not stop the start: calls of these models fail. */
  readonly warnings: readonly string[]
}

/** The models of MODELS_FILE, with all that is wrong with the file and with the keys that it names. */
export async function configuredModels(
  { file, isEmpty, keyOf }: Pick<ModelSettings, 'file' | 'isEmpty' | 'keyOf'>,
  created: number,
): Promise<ConfiguredModels> {
  if (file === null) return { models: [], problems: [], warnings: [] }
  const { models, problems } = await readModelsFile(file, created)
  const named = models.flatMap(({ id, upstreams }) =>
    upstreams.flatMap(({ keyEnv }) => (keyEnv === null ? [] : [{ id, keyEnv }])),
  )
  const empty = named
    .filter(({ keyEnv }) => isEmpty(keyEnv))
    .map(
      ({ id, keyEnv }) =>
        `${keyEnv} is empty, but ${file} names it as key_env of ${id}. Set it, such as ${keyEnv}=sk-..., or remove key_env for an upstream without a key`,
    )
  const unset = named
    .filter(({ keyEnv }) => !isEmpty(keyEnv) && keyOf(keyEnv) === null)
    .map(({ id, keyEnv }) => `${keyEnv} is not set, but ${file} names it as key_env of ${id}: its calls fail`)
  return { models, problems: [...problems, ...empty], warnings: unset }
}
