import { useState } from 'react'
import { MAX_DOCUMENT_BYTES } from '../../../../../server/core/apis/document-size.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { Choice, Choices, Field } from '../../../ui/field.tsx'
import { type ImportErrors, type ImportValues, SOURCES, withHints } from './import-values.ts'

/** Where the OpenAPI document comes from: a file, a URL that the gateway fetches, or pasted text. */
export function DocumentFields({ values, errors, onChange }: DocumentFieldsProps) {
  const { source } = values
  return (
    <Choices legend={TEXT.source} hint={TEXT.documentHint}>
      <div className="flex flex-wrap gap-x-6 gap-y-2">
        {SOURCES.map((one) => (
          <Choice
            key={one}
            name="source"
            label={TEXT.sources[one]}
            checked={source === one}
            onChange={() => onChange({ source: one, document: '', fileName: '' })}
          />
        ))}
      </div>
      {source === 'file' && <FileField values={values} errors={errors} onChange={onChange} />}
      {source === 'url' && (
        <Field label={TEXT.url} hint={TEXT.urlHint} error={errors.url}>
          {(control) => (
            <input
              {...control}
              name="url"
              inputMode="url"
              autoComplete="off"
              value={values.url}
              onChange={({ target }) => onChange({ url: target.value })}
            />
          )}
        </Field>
      )}
      {source === 'text' && (
        <Field label={TEXT.text} error={errors.document}>
          {(control) => (
            <textarea
              {...control}
              name="document"
              rows={10}
              spellCheck={false}
              className={`${control.className} code py-2`}
              value={values.document}
              onChange={({ target }) => onChange({ document: target.value })}
              onBlur={() => onChange(withHints(values, values.document))}
            />
          )}
        </Field>
      )}
    </Choices>
  )
}

type DocumentFieldsProps = {
  values: ImportValues
  errors: ImportErrors
  onChange: (part: Partial<ImportValues>) => void
}

function FileField({ values, errors, onChange }: DocumentFieldsProps) {
  const [problem, setProblem] = useState<string>()
  const read = async (file: File | undefined) => {
    setProblem(undefined)
    if (!file) return
    if (file.size > MAX_DOCUMENT_BYTES) return setProblem(TEXT.fileTooLarge)
    try {
      const document = await file.text()
      onChange({ ...withHints(values, document), document, fileName: file.name })
    } catch {
      setProblem(TEXT.fileUnreadable)
    }
  }
  return (
    <Field
      label={TEXT.file}
      hint={values.fileName === '' ? TEXT.fileHint : values.fileName}
      error={problem ?? errors.document}
    >
      {(control) => (
        <input
          {...control}
          name="document"
          type="file"
          accept=".json,.yaml,.yml,application/json,application/yaml,text/yaml"
          className={`${control.className} py-1.5`}
          onChange={({ target }) => void read(target.files?.[0])}
        />
      )}
    </Field>
  )
}
