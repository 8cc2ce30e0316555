import { useState } from 'react'
import { PRICE_FORM_TEXT as TEXT } from '../../../messages/price-form.ts'
import { Choice, Choices, Field, Select } from '../../../ui/field.tsx'
import { BILL_UNITS, exampleOf, FIGURES, MODES, type PriceErrors, type PriceValues } from './price-values.ts'
import { TextField } from './text-field.tsx'

/** The fields of a price: only those of the chosen mode, with an example calculation. */
export function PriceFields(props: PriceFieldsProps) {
  const { values, onChange, legend = TEXT.legend, hint } = props
  return (
    <Choices legend={legend} hint={hint}>
      {MODES.map((mode) => (
        <Choice
          key={mode}
          name="mode"
          label={TEXT.modes[mode]}
          checked={values.mode === mode}
          onChange={() =>
            onChange({ mode, ...(mode === 'reported' && values.figure !== 'header' && { figure: 'pointer' }) })
          }
        />
      ))}
      <div className="grid gap-4 pt-2">
        {values.mode !== 'reported' && (
          <TextField {...props} name="usd" label={TEXT.usd[values.mode]} hint={TEXT.usdHint} />
        )}
        {values.mode === 'units' && <UnitFields {...props} />}
        {values.mode === 'reported' && <BillFields {...props} />}
        <Example values={values} />
      </div>
    </Choices>
  )
}

type PriceFieldsProps = {
  values: PriceValues
  errors: PriceErrors
  onChange: (part: Partial<PriceValues>) => void
  legend?: string
  hint?: string
}

function UnitFields(props: PriceFieldsProps) {
  const { values, onChange } = props
  return (
    <>
      <FigureFields {...props} label={TEXT.figure} hint={TEXT.pointerHint} figures={FIGURES} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField {...props} name="block" label={TEXT.block} hint={TEXT.blockHint} />
        <TextField {...props} name="minimum" label={TEXT.minimum} hint="" />
      </div>
      <Choices legend={TEXT.bound} hint={TEXT.boundHint}>
        <Choice
          name="bound"
          label={TEXT.boundFixed}
          checked={values.bound === 'number'}
          onChange={() => onChange({ bound: 'number' })}
        />
        <Choice
          name="bound"
          label={TEXT.boundParameter}
          checked={values.bound === 'parameter'}
          onChange={() => onChange({ bound: 'parameter' })}
        />
        {values.bound === 'number' ? (
          <TextField {...props} name="maximum" label={TEXT.maximum} hint="" />
        ) : (
          <TextField {...props} name="parameter" label={TEXT.parameter} hint={TEXT.parameterHint} />
        )}
      </Choices>
      <TextField {...props} name="onMissing" label={TEXT.onMissing.units} hint={TEXT.onMissingHint} />
    </>
  )
}

function BillFields(props: PriceFieldsProps) {
  const { values, onChange } = props
  return (
    <>
      <FigureFields
        {...props}
        label={TEXT.figureReported}
        hint={TEXT.pointerHintReported}
        figures={['pointer', 'header']}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={TEXT.unit}>
          {(control) => (
            <Select
              {...control}
              options={BILL_UNITS.map((unit) => ({ value: unit, text: TEXT.unitNames[unit] }))}
              value={values.unit}
              onChange={({ target }) => onChange({ unit: BILL_UNITS.find((unit) => unit === target.value) ?? 'usd' })}
            />
          )}
        </Field>
        <TextField {...props} name="multiplier" label={TEXT.multiplier} hint={TEXT.multiplierHint} />
        <TextField {...props} name="minimumUsd" label={TEXT.minimumUsd} hint="" />
        <TextField {...props} name="maximumUsd" label={TEXT.maximumUsd} hint={TEXT.boundHint} />
      </div>
      <TextField {...props} name="onMissing" label={TEXT.onMissing.reported} hint={TEXT.onMissingHint} />
    </>
  )
}

/** Where the figure of an answer is. */
function FigureFields({ label, hint, figures, ...props }: FigureProps) {
  const { values, onChange } = props
  return (
    <>
      <Field label={label}>
        {(control) => (
          <Select
            {...control}
            options={figures.map((figure) => ({ value: figure, text: TEXT.figures[figure] }))}
            value={values.figure}
            onChange={({ target }) => onChange({ figure: figures.find((one) => one === target.value) ?? 'pointer' })}
          />
        )}
      </Field>
      {values.figure === 'pointer' && <TextField {...props} name="pointer" label={TEXT.pointer} hint={hint} />}
      {values.figure === 'header' && <TextField {...props} name="header" label={TEXT.headerName} hint="" />}
    </>
  )
}

type FigureProps = Omit<PriceFieldsProps, 'hint'> & {
  label: string
  hint: string
  figures: readonly PriceValues['figure'][]
}

const FIRST_EXAMPLES = { fixed: '', units: '37', reported: '0.02' } as const

/** The price of an example answer, while the price is typed. */
function Example({ values }: { values: PriceValues }) {
  const [figures, setFigures] = useState<Readonly<Record<PriceValues['mode'], string>>>(FIRST_EXAMPLES)
  const figure = figures[values.mode]
  return (
    <div className="grid gap-3 rounded-md bg-sunken p-3">
      <p className="font-medium">{TEXT.example}</p>
      {values.mode !== 'fixed' && (
        <Field label={values.mode === 'units' ? TEXT.exampleUnits : TEXT.exampleBill}>
          {(control) => (
            <input
              {...control}
              autoComplete="off"
              value={figure}
              onChange={({ target }) => setFigures({ ...figures, [values.mode]: target.value })}
            />
          )}
        </Field>
      )}
      <p role="status">{exampleOf(values, figure) ?? TEXT.exampleIncomplete}</p>
    </div>
  )
}
