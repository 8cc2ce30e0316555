import { changeModel, type SoldModel } from '../../../api/models.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { Choice, Field } from '../../../ui/field.tsx'
import { ActionForm, fieldText, isUsd, useOperatorAction } from '../action-form.tsx'
import { AccessFields, readAccess } from './access-fields.tsx'

/** Changes the price of a model, if it is one rule per token, and who may call it. */
export function EditModelDialog({ model, onClose }: { model: SoldModel; onClose: () => void }) {
  const { id } = model
  const rates = ratesOf(model)
  const action = useOperatorAction(
    (change: Parameters<typeof changeModel>[1]) => changeModel(id, change),
    TEXT.changed(id),
    onClose,
  )
  return (
    <ActionForm
      title={TEXT.editTitle(id)}
      action={action}
      onClose={onClose}
      read={(form) => {
        const typed = (rates ?? []).map(([name]) => [name, fieldText(form, name)] as const)
        const wrong = Object.fromEntries(
          typed.filter(([, text]) => !isUsd(text)).map(([name]) => [name, TEXT.priceWrong]),
        )
        if (Object.keys(wrong).length > 0) return { wrong }
        const price = rates && { price: Object.fromEntries(typed.map(([name, text]) => [name, Number(text)])) }
        return { values: { ...price, recharge_required: form.get('recharge') !== null, access: readAccess(form) } }
      }}
    >
      {(errors) => (
        <>
          {rates?.map(([name, value]) => (
            <Field key={name} label={TEXT.rate(name)} error={errors[name]}>
              {(control) => <input {...control} name={name} inputMode="decimal" defaultValue={String(value)} />}
            </Field>
          ))}
          {!rates && <p className="text-muted">{TEXT.editFixed}</p>}
          <Choice type="checkbox" name="recharge" defaultChecked={model.recharge_required} label={TEXT.recharge} />
          <AccessFields access={model.access} />
        </>
      )}
    </ActionForm>
  )
}

/** The amounts of a price that is one rule without fees for tools; null for any other. */
function ratesOf({ pricing }: SoldModel): readonly (readonly [name: string, usd: number])[] | null {
  const { rules, tools, images, ...rates } = pricing
  if (rules || tools || images) return null
  return Object.entries(rates).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
}
