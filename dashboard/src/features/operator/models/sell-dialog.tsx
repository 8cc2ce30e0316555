import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../../api/client/failure.ts'
import { type NewSoldModel, sellModel, type VendorTest, vendorTestQuery } from '../../../api/models.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { Dialog } from '../../../ui/dialogs/dialog.tsx'
import { Failed } from '../../../ui/feedback/failure.tsx'
import { Loading } from '../../../ui/feedback/states.tsx'
import { Choice, Field, Select } from '../../../ui/field.tsx'
import { ActionForm, fieldText, isUsd, useOperatorAction } from '../action-form.tsx'
import { AccessFields, readAccess } from './access-fields.tsx'

const DEFAULT_MARKUP = '20'
/** What a model without a price in the sheet must have. */
const RATES = ['input', 'output'] as const
const ANTHROPIC_RATES = [...RATES, 'cache_write'] as const
type Rate = (typeof ANTHROPIC_RATES)[number]

type SellProps = { vendor: string; onClose: () => void }

/** Tests the key of a vendor, and puts one of its models on sale. */
export function SellDialog({ vendor, onClose }: SellProps) {
  const test = useQuery(vendorTestQuery(vendor))
  if (test.data) return <SellForm vendor={vendor} test={test.data} onClose={onClose} />
  const failure = failureFrom(test)
  return (
    <Dialog title={TEXT.sellFrom(vendor)} onClose={onClose}>
      {failure ? (
        <Failed failure={failure} onRetry={() => void test.refetch()} />
      ) : (
        <>
          <p className="text-muted">{TEXT.asking}</p>
          <Loading rows={2} />
        </>
      )}
    </Dialog>
  )
}

function SellForm({ vendor, test, onClose }: SellProps & { test: VendorTest }) {
  const [model, setModel] = useState(
    test.models.find(({ vendor_price: price }) => price)?.id ?? test.models[0]?.id ?? '',
  )
  const [isTyped, setTyped] = useState<string | null>(null)
  const rates: readonly Rate[] = test.vendor.kind === 'anthropic' ? ANTHROPIC_RATES : RATES
  const price = test.models.find(({ id }) => id === model)?.vendor_price ?? null
  const action = useOperatorAction(
    (form: NewSoldModel) => sellModel(vendor, form),
    ({ id, model }) => TEXT.sold(id ?? model),
    onClose,
  )
  return (
    <ActionForm
      title={TEXT.sellFrom(vendor)}
      action={action}
      onClose={onClose}
      read={(form) => readSale(form, model, price ? null : rates)}
    >
      {(errors) => (
        <>
          <Answer test={test} />
          <ModelField test={test} model={model} error={errors['model']} onModel={setModel} />
          <Field label={TEXT.alias} hint={TEXT.aliasHint}>
            {(control) => (
              <input
                {...control}
                name="id"
                autoComplete="off"
                spellCheck={false}
                value={isTyped ?? model}
                onChange={({ target }) => setTyped(target.value)}
              />
            )}
          </Field>
          <PriceOfSale price={price} rates={rates} errors={errors} />
          <Choice type="checkbox" name="recharge" defaultChecked label={TEXT.recharge} />
          <AccessFields />
        </>
      )}
    </ActionForm>
  )
}

function Answer({ test: { problem, models } }: { test: VendorTest }) {
  if (problem === null) return <p className="text-muted">{TEXT.works(models.length)}</p>
  return (
    <div role="alert" className="rounded-lg bg-bad-soft px-4 py-3 text-bad wrap-anywhere">
      <p>{TEXT.refused}</p>
      <p>{problem}</p>
      <p>{TEXT.refusedHint}</p>
    </div>
  )
}

function ModelField({ test: { models }, model, error, onModel }: ModelFieldProps) {
  const options = models.map(({ id, vendor_price: price }) => ({
    value: id,
    text: id,
    group: price ? TEXT.priced : TEXT.unpriced,
  }))
  options.sort((one, other) => Number(one.group !== TEXT.priced) - Number(other.group !== TEXT.priced))
  return (
    <Field label={TEXT.model} error={error}>
      {(control) =>
        models.length === 0 ? (
          <input
            {...control}
            name="model"
            autoComplete="off"
            spellCheck={false}
            value={model}
            onChange={({ target }) => onModel(target.value)}
          />
        ) : (
          <Select {...control} value={model} options={options} onChange={({ target }) => onModel(target.value)} />
        )
      }
    </Field>
  )
}

type ModelFieldProps = {
  test: VendorTest
  model: string
  error: string | undefined
  onModel: (model: string) => void
}

function PriceOfSale({ price, rates, errors }: PriceOfSaleProps) {
  if (price)
    return (
      <Field
        label={TEXT.markup}
        hint={TEXT.markupHint(`$${price.input ?? '-'}`, `$${price.output ?? '-'}`)}
        error={errors['markup']}
      >
        {(control) => <input {...control} name="markup" inputMode="numeric" defaultValue={DEFAULT_MARKUP} />}
      </Field>
    )
  return (
    <>
      <p className="text-muted">{TEXT.ownPrice}</p>
      {rates.map((name) => (
        <Field key={name} label={TEXT[name]} error={errors[name]}>
          {(control) => <input {...control} name={name} inputMode="decimal" />}
        </Field>
      ))}
    </>
  )
}

type PriceOfSaleProps = {
  rates: readonly Rate[]
  price: VendorTest['models'][number]['vendor_price']
  errors: Readonly<Record<string, string>>
}

/** `rates`: those of a price of its own; null if the sheet has one. */
function readSale(form: FormData, model: string, rates: readonly Rate[] | null) {
  const id = fieldText(form, 'id')
  const markup = fieldText(form, 'markup')
  const typed = (rates ?? []).map((name) => [name, fieldText(form, name)] as const)
  const wrong = {
    ...(model.trim() === '' && { model: TEXT.modelNeeded }),
    ...(!rates && !/^\d{1,5}$/.test(markup) && { markup: TEXT.markupWrong }),
    ...Object.fromEntries(typed.filter(([, text]) => !isUsd(text)).map(([name]) => [name, TEXT.priceWrong])),
  }
  if (Object.keys(wrong).length > 0) return { wrong }
  const price = rates
    ? { price: Object.fromEntries(typed.map(([name, text]) => [name, Number(text)])) }
    : { markup_percent: Number(markup) }
  return {
    values: {
      model: model.trim(),
      ...(id !== '' && { id }),
      ...price,
      recharge_required: form.get('recharge') !== null,
      access: readAccess(form),
    } satisfies NewSoldModel,
  }
}
