-- The rows of a pair with other devices behind its tiers (`with_factors`).
-- A row keeps its host's part, and all of its time where nothing is requested from the tiers that change. What else nobody recorded is
-- unknown on another device, and goes.
delete from timings
where
    pair = $pair and device_s is distinct from 0 and (study, trial, step) not in (select (study, trial, step) from times_as_long)
    and (
        len(tier_io) = 0
        or len([io for io in tier_io
                if list_contains($tiers, io.tier) and (io.reads is distinct from 0 or io.writes is distinct from 0)]) > 0
    );
update timings set
    elapsed_s = elapsed_s + device_s * (factor - 1),
    device_s = device_s * factor,
    relation_io = list_transform(relation_io, lambda io: struct_update(io, io_s := null::double, io_basis := 'other devices'))
from times_as_long as other
where timings.pair = $pair and (timings.study, timings.trial, timings.step) = (other.study, other.trial, other.step);
update timings set evidence = 'simulated' where pair = $pair;
