import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type ApiOperation, type Trial, tryOperation } from '../../api/apis.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { type FormFiles, type FormValues, inputOf, operatorGatewayOperation } from '../../api/playground/operations.ts'
import { withFiles } from '../../api/playground/trial-files.ts'
import { API_TEXT as TEXT } from '../../messages/apis.ts'
import { PLAYGROUND_TEXT } from '../../messages/playground.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code/code-block.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Field } from '../../ui/field.tsx'
import { costUsd, grouped, parseMicros } from '../../ui/format/money.ts'
import { FactList } from '../../ui/layout/fact-list.tsx'
import { FieldInput } from './field-input.tsx'
import { validateField } from './form-values.ts'

/** One real call of an operation for its operator, also before it is on sale: the answer, the units and the price. */
export function OperationTrial({ api, operation, onClose }: OperationTrialProps) {
  const form = operatorGatewayOperation(operation)
  const [values, setValues] = useState<FormValues>(() => exampleValues(operation))
  const [body, setBody] = useState(form.exampleBody ?? '')
  const [files, setFiles] = useState<FormFiles>({})
  const [shown, setShown] = useState(false)
  const input = inputOf(form, values, body)
  const trying = useMutation({
    mutationFn: async (sent: object) => tryOperation(api, operation.id, { ...(await withFiles(form, sent, files)) }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setShown(true)
    const isWrong = form.fields.some((field) => validateField(field, values[field.name], files[field.name]) !== null)
    if (!isWrong && input && !trying.isPending) trying.mutate(input)
  }
  return (
    <Dialog title={TEXT.tryTitle(form.title)} side onClose={onClose}>
      <p className="text-muted">{TEXT.tryText}</p>
      {operation.effect === 'write' && <p className="text-warn">{TEXT.tryWrite}</p>}
      <form noValidate onSubmit={submit} className="grid gap-4">
        {form.fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            value={values[field.name]}
            files={files[field.name]}
            shown={shown}
            onFiles={(chosen) => setFiles({ ...files, [field.name]: chosen })}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        {form.exampleBody !== null && (
          <Field label={PLAYGROUND_TEXT.body} error={input === null ? PLAYGROUND_TEXT.bodyWrong : undefined}>
            {(control) => (
              <textarea
                {...control}
                rows={8}
                spellCheck={false}
                className={`${control.className} code py-2`}
                value={body}
                onChange={(event) => setBody(event.target.value)}
              />
            )}
          </Field>
        )}
        <Button type="submit" tone="primary" busy={trying.isPending}>
          {trying.isPending ? TEXT.sending : TEXT.send}
        </Button>
      </form>
      <FormFailure failure={failureFrom(trying)} />
      {trying.data && <TrialResult trial={trying.data} />}
    </Dialog>
  )
}

type OperationTrialProps = { api: string; operation: ApiOperation; onClose: () => void }

/** The values of the operation's first example. */
function exampleValues({ examples = [] }: ApiOperation): FormValues {
  const input = Object.entries(examples[0]?.input ?? {})
  return Object.fromEntries(
    input.filter(([, value]) => typeof value !== 'object').map(([name, value]) => [name, String(value)]),
  )
}

function TrialResult({ trial }: { trial: Trial }) {
  const { trial: WORDS } = TEXT
  const { status, content_type: type, bytes, preview, units, cost_usd: cost, held_usd: held } = trial
  const amount = (usd: string | null) => (usd === null ? WORDS.none : costUsd(parseMicros(usd) ?? 0))
  const facts = [
    [WORDS.cost, amount(cost)],
    [WORDS.units, units ?? WORDS.none],
    [WORDS.held, amount(held)],
    [WORDS.type, type ?? WORDS.none],
    [WORDS.size, WORDS.bytes(grouped(bytes))],
  ] as const
  return (
    <section aria-label={WORDS.result} className="grid min-w-0 gap-3">
      <div role="status" className="flex flex-wrap items-center gap-3">
        <span className="font-medium">{WORDS.result}</span>
        {status !== null && <Badge tone={status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad'}>{status}</Badge>}
      </div>
      {trial.problem !== null && <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{trial.problem}</p>}
      <FactList facts={facts} />
      {preview !== null && <CodeBlock label={WORDS.preview} code={readable(preview)} copyLabel={WORDS.copy} tall />}
    </section>
  )
}

/** JSON with indents; anything else, such as the beginning of a long answer, as it is. */
function readable(preview: string): string {
  try {
    return JSON.stringify(JSON.parse(preview), null, 2)
  } catch {
    return preview
  }
}
