/** Works something out once for each thing that never changes, a published version say, and gives the same back for as long as the thing is there. */
export const onceEach = <Thing extends object, Value extends object>(workOut: (thing: Thing) => Value): ((thing: Thing) => Value) => {
  const known = new WeakMap<Thing, Value>();
  return (thing) => {
    const found = known.get(thing);
    if (found) return found;
    const value = workOut(thing);
    known.set(thing, value);
    return value;
  };
};
