import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configurationSchema, documentation, SCHEMA_FILE } from '../server/config/schema/documentation'
import { MODEL_FILE_SCHEMA } from '../server/core/models/model-file-schema'

/** `bun run settings`: writes docs/configuration.md, its schema and that of models. Tests fail while they are not current. */
const DOCS = join(import.meta.dirname, '../docs')

writeFileSync(join(DOCS, 'configuration.md'), documentation())
writeFileSync(join(DOCS, SCHEMA_FILE), `${JSON.stringify(configurationSchema(), null, 2)}\n`)
writeFileSync(join(DOCS, 'models.schema.json'), `${JSON.stringify(MODEL_FILE_SCHEMA, null, 2)}\n`)
