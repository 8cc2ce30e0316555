import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { accountQuery } from '../../api/account/account.ts'
import { ENDPOINT_TYPES } from '../../api/playground/chat-wires.ts'
import type { OfferedModel } from '../../api/playground/models.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { Field } from '../../ui/field.tsx'
import { grouped } from '../../ui/format/money.ts'
import { type ChatSettings, formatPrice, isFree, selectedType, typesOf } from './chat-settings.ts'

/** The choice of a model and, if it supports several, of an API format, with its price. */
export function ModelChoice({ models, model, settings, onModel, onSettings }: ModelChoiceProps) {
  const types = typesOf(model)
  const groups = [
    [TEXT.free, models.filter(isFree)],
    [TEXT.paid, models.filter((one) => !isFree(one))],
  ] as const
  return (
    <>
      <Field label={TEXT.model} hint={<ModelFacts model={model} />}>
        {(control) => (
          <select {...control} value={model.id} onChange={(event) => onModel(event.target.value)}>
            {groups
              .filter(([, some]) => some.length > 0)
              .map(([label, some]) => (
                <optgroup key={label} label={label}>
                  {some.map((one) => (
                    <option key={one.id} value={one.id}>
                      {isFree(one)
                        ? one.id
                        : `${one.id} · ${formatPrice(one.pricing.input)} / ${formatPrice(one.pricing.output)}`}
                    </option>
                  ))}
                </optgroup>
              ))}
          </select>
        )}
      </Field>
      {types.length > 1 && (
        <Field label={TEXT.format} hint={TEXT.formatHint}>
          {(control) => (
            <select
              {...control}
              value={selectedType(model, settings.type)}
              onChange={(event) => {
                const type = ENDPOINT_TYPES.find((one) => one === event.target.value)
                if (type) onSettings({ ...settings, type })
              }}
            >
              {types.map((type) => (
                <option key={type} value={type}>
                  {TEXT.formats[type]}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </>
  )
}

type ModelChoiceProps = {
  models: readonly OfferedModel[]
  model: OfferedModel
  settings: ChatSettings
  onModel: (id: string) => void
  onSettings: (settings: ChatSettings) => void
}

/** Prices per million tokens, the context size, and whether the account can use the model yet. */
function ModelFacts({ model }: { model: OfferedModel }) {
  const account = useQuery(accountQuery).data
  const { pricing, context_tokens: context } = model
  const mustTopUp = model.recharge_required && account !== undefined && account.topped_up_micros_usd === 0
  return (
    <>
      {isFree(model) ? TEXT.isFree : TEXT.prices(formatPrice(pricing.input), formatPrice(pricing.output))}.{' '}
      {!isFree(model) && `${TEXT.cachePrice(formatPrice(pricing.cache_read), formatPrice(pricing.cache_write))}. `}
      {pricing.rules?.slice(0, -1).map(({ tier, above, input, output }) => (
        <span key={`${tier} ${above}`} className="block">
          {TEXT.rulePrice(formatPrice(input), formatPrice(output), tier, above === undefined ? above : grouped(above))}
        </span>
      ))}
      {pricing.request !== undefined && TEXT.callPrice(formatPrice(pricing.request))}
      {Object.entries(pricing.tools ?? {}).map(([tool, usd]) => TEXT.toolPrice(tool, formatPrice(usd)))}
      {context !== null && `${TEXT.context(grouped(context))}.`}
      {mustTopUp && (
        <span className="block text-warn">
          {TEXT.needsTopUp}{' '}
          <Link to="/billing" className="text-accent underline">
            {TEXT.topUp}
          </Link>
        </span>
      )}
    </>
  )
}
