"""The table twomass_psc: the 60 columns of the official Point Source Catalog in its order.

Names, order and types: the release's PostgreSQL schema (whose ``decl`` is ``dec``), and the archive's own description of its table.
"""

from typing import Final

from tierwise.core.data_sets import whole_rows
from tierwise.datasets.archive_table import Table

ROWS: Final = whole_rows("sky")  # sources in the All-Sky Point Source Catalog

PROFILE_SHARE: Final = 0.01
"""The share of these rows that a profile of fraction 1 has: in a server the whole catalog takes some 152 GB (README_dvd of the release)."""

_RUNS: Final = (
    ("double precision", "ra dec"),
    ("real", "err_maj err_min"),
    ("smallint", "err_ang"),
    ("character(17)", "designation"),
    ("real", "j_m j_cmsig j_msigcom j_snr h_m h_cmsig h_msigcom h_snr k_m k_cmsig k_msigcom k_snr"),
    ("character(3)", "ph_qual rd_flg bl_flg cc_flg"),
    ("character(6)", "ndet"),
    ("real", "prox"),
    ("smallint", "pxpa"),
    ("integer", "pxcntr"),
    ("smallint", "gal_contam mp_flg"),
    ("integer", "pts_key"),
    ("character(1)", "hemis"),
    ("date", "date"),
    ("smallint", "scan"),
    ("real", "glon glat x_scan"),
    ("double precision", "jdate"),
    ("real", "j_psfchi h_psfchi k_psfchi j_m_stdap j_msig_stdap h_m_stdap h_msig_stdap k_m_stdap k_msig_stdap"),
    ("integer", "dist_edge_ns dist_edge_ew"),
    ("character(2)", "dist_edge_flg"),
    ("smallint", "dup_src use_src"),
    ("character(1)", "a"),
    ("real", "dist_opt"),
    ("smallint", "phi_opt"),
    ("real", "b_m_opt vr_m_opt"),
    ("smallint", "nopt_mchs"),
    ("integer", "ext_key scan_key coadd_key"),
    ("smallint", "coadd"),
)
TYPES: Final = {name: kind for kind, names in _RUNS for name in names.split()}  # SQL type by column, in the file's order

_VIZIER: Final = (  # what VizieR's II/246 calls the columns, in the same order
    "RAJ2000 DEJ2000 errMaj errMin errPA 2MASS Jmag Jcmsig e_Jmag Jsnr Hmag Hcmsig e_Hmag Hsnr Kmag Kcmsig e_Kmag Ksnr Qflg Rflg Bflg Cflg "
    "Ndet prox pxPA pxCntr Xflg Aflg Cntr Hemis Date Scan GLON GLAT Xscan JD Jpsfchi Hpsfchi Kpsfchi Jstdap e_Jstdap Hstdap e_Hstdap "
    "Kstdap e_Kstdap edgeNS edgeEW edge dup use opt Dopt PAopt Bmag Rmag Nopt extKey scanKey coaddKey coadd"
)
NAMES: Final = {name: name for name in TYPES} | {
    **{theirs.lower(): ours for theirs, ours in zip(_VIZIER.split(), TYPES, strict=True)},
    "decl": "dec",
    "xdate": "date",
    "cntr": "pts_key",
    "_2mass": "designation",
    "_tab1_36": "jdate",
    "_raj2000": "ra",
    "_dej2000": "dec",
    "radeg": "ra",
    "dedeg": "dec",
    "ra_icrs": "ra",
    "de_icrs": "dec",
}
"""Our name of a column by what a file calls it, in lower case: the release's schema, the archive's services, VizieR."""

NULLABLE: Final = frozenset(TYPES) - {"ra", "dec", "designation", "pts_key"}  # columns that may hold no value; in the release's text ``\N``

PSC: Final = Table("twomass_psc", TYPES, key=("pts_key",), indexed=(("ra",), ("dec",)), nullable=NULLABLE)
"""Indexed as the survey has it: ra and dec are the "indexed columns" of its first query, those of its second query are not."""
