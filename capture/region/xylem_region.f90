! Names the parts of a program, for xylem: two calls, which do nothing without it.
!
!   use xylem_region
!
!   call xylem_region_begin("solve")
!   ...
!   call xylem_region_end()
!
! Compile this file together with the program. There is no library to link. region.h has the rules.

module xylem_region
  use, intrinsic :: iso_c_binding, only: c_char, c_ptr, c_null_ptr, c_null_char, c_funptr, c_associated, c_f_procpointer
  implicit none
  private
  public :: xylem_region_begin, xylem_region_end

  abstract interface
    ! The place in the program is not known.
    subroutine begin_function(name, site) bind(C)
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: site
    end subroutine begin_function
    subroutine end_function(site) bind(C)
      import :: c_ptr
      type(c_ptr), value :: site
    end subroutine end_function
  end interface

  interface
    function find_symbol(handle, symbol) bind(C, name="dlsym") result(address)
      import :: c_ptr, c_char, c_funptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: symbol(*)
      type(c_funptr) :: address
    end function find_symbol
    function last_error() bind(C, name="dlerror") result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function last_error
  end interface

contains

  subroutine xylem_region_begin(name)
    character(len=*), intent(in) :: name
    logical, save :: is_absent = .false.
    procedure(begin_function), pointer, save :: begin => null()
    type(c_funptr) :: address
    type(c_ptr) :: text

    if (.not. associated(begin)) then
      if (is_absent) return
      address = find_symbol(c_null_ptr, "xylem_region_begin_1" // c_null_char)
      if (.not. c_associated(address)) then
        text = last_error()
        is_absent = .true.
        return
      end if
      call c_f_procpointer(address, begin)
    end if
    call begin(trim(name) // c_null_char, c_null_ptr)
  end subroutine xylem_region_begin

  subroutine xylem_region_end()
    logical, save :: is_absent = .false.
    procedure(end_function), pointer, save :: finish => null()
    type(c_funptr) :: address
    type(c_ptr) :: text

    if (.not. associated(finish)) then
      if (is_absent) return
      address = find_symbol(c_null_ptr, "xylem_region_end_1" // c_null_char)
      if (.not. c_associated(address)) then
        text = last_error()
        is_absent = .true.
        return
      end if
      call c_f_procpointer(address, finish)
    end if
    call finish(c_null_ptr)
  end subroutine xylem_region_end

end module xylem_region
