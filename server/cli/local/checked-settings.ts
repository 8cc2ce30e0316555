import { configuredModels } from '../../compose/configured-models'
import { examinedConfig } from '../../config'
import type { Terminal } from '../terminal'

/** Everything that is wrong with the settings and with the files that a start would read. */
export async function checkedSettings(env: Terminal['env']) {
  const examined = examinedConfig(env)
  if (examined.models === null) return examined
  const models = await configuredModels(examined.models, 0)
  const problems = [...examined.problems, ...models.problems]
  return { ...examined, problems, warnings: [...examined.warnings, ...models.warnings] }
}
